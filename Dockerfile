# Bulkhead in a container, for hosts that start servers with a container engine:
#
#   docker build -t bulkhead .
#   docker run -i --rm --network none --read-only -v "$HOME/src:/workspace:ro" bulkhead
#
# The workers' own walls stand inside too, where the engine lets system calls of Landlock and seccomp through; if it does not, every
# call is refused with the layer's name. `docker run -i --rm -v … bulkhead doctor` says which hold.

FROM rust:1.95-trixie AS build
# the image has this one; the file with the formatter and the linter is for developers
ENV RUSTUP_TOOLCHAIN=1.95.0
WORKDIR /build
COPY . .
RUN cargo build --release --locked --bin bulkhead

FROM debian:trixie-slim
# must be the name in server.json
LABEL io.modelcontextprotocol.server.name="io.github.bulkhead-git/bulkhead" \
      org.opencontainers.image.title="Bulkhead" \
      org.opencontainers.image.licenses="Apache-2.0 OR MIT" \
      org.opencontainers.image.source="https://github.com/bulkhead-git/bulkhead"
# nobody's user, with a home for the records of calls (`-v bulkhead-records:/home/bulkhead/.local/state` keeps them); git is for
# writes, which stay closed unless a flag opens them, and must be 2.41 or later
RUN apt-get update \
    && apt-get install -y --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home --shell /usr/sbin/nologin bulkhead \
    && mkdir -p /workspace /home/bulkhead/.local/state \
    && chown -R bulkhead: /home/bulkhead
COPY --from=build /build/target/release/bulkhead /usr/local/bin/bulkhead
USER 10001:10001
ENV HOME=/home/bulkhead
WORKDIR /workspace
# What is mounted there belongs to a user of the machine outside, whom nobody in here is: whoever mounted it trusts it. Reads run
# nothing of it, whoever owns it.
ENTRYPOINT ["/usr/local/bin/bulkhead", "--root", "/workspace", "--trust-owner", "any"]
