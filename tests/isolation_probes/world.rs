//! What the probes aim at: files, sockets, a second process. All of it in one temporary directory.
//! Trust: made by the test, broken by the probes that succeed.

use bulkhead_sandbox::probe::Targets;
use std::{
    fs,
    io::{self, Read},
    net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket},
    os::{linux::net::SocketAddrExt, unix::net::UnixListener},
    process::{self, Child, Command, Stdio},
};
use tempfile::TempDir;

/// Alive as long as anything probes it.
pub struct World {
    _directory: TempDir,
    ports: [TcpListener; 2],
    _sockets: [UnixListener; 2],
    sibling: Child,
    pub targets: Targets,
}

impl World {
    pub fn new() -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("bulkhead-probes-").tempdir()?;
        // a jail names canonical directories
        let base = fs::canonicalize(directory.path())?;
        let at = |name: &str| base.join(name).to_string_lossy().into_owned();
        for name in ["repository", "outside", "keys", "ledger"] {
            fs::create_dir(at(name))?;
        }
        fs::write(at("outside/secret.txt"), "secret")?;
        fs::write(at("keys/seed"), [9; 32])?;
        let ports = [TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?, TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?];
        let abstract_name = format!("bulkhead-probes-{}", process::id());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&abstract_name)?;
        let sockets = [UnixListener::bind(at("socket"))?, UnixListener::bind_addr(&address)?];
        let sibling = Command::new("/proc/self/exe")
            .arg("sibling")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .and_then(started)?;
        let targets = Targets {
            repository: at("repository"),
            outside: at("outside"),
            key: at("keys/seed"),
            ledger: at("ledger/ledger.bin"),
            ledger_fd: -1,
            sibling: sibling.id() as i32,
            supervisor: process::id() as i32,
            gateway_port: ports[0].local_addr()?.port(),
            other_port: ports[1].local_addr()?.port(),
            second_address: second_address(),
            unix_path: at("socket"),
            abstract_name,
        };
        let world = Self { _directory: directory, ports, _sockets: sockets, sibling, targets };
        world.restore()?;
        Ok(world)
    }

    /// A run directory with a record of everything that one may hold; its path.
    pub fn run_directory(&self) -> io::Result<String> {
        let dir = format!("{}-run", self.targets.repository);
        for (part, name) in [("repos", "a.path"), ("rebase", "a.json"), ("audit", "mcp.jsonl")] {
            fs::create_dir_all(format!("{dir}/{part}"))?;
            fs::write(format!("{dir}/{part}/{name}"), "{}")?;
        }
        Ok(dir)
    }

    /// A directory for a note, with nothing in it.
    pub fn note_directory(&self) -> io::Result<String> {
        let dir = format!("{}-note", self.targets.repository);
        fs::create_dir_all(&dir)?;
        Ok(dir)
    }

    /// Lets go of connections that came to the ports, so that there is room for more.
    pub fn let_go(&self) -> io::Result<()> {
        for port in &self.ports {
            port.set_nonblocking(true)?;
            while port.accept().is_ok() {}
        }
        Ok(())
    }

    /// Puts back what a probe that succeeded has broken.
    pub fn restore(&self) -> io::Result<()> {
        let at = |name: &str| format!("{}/{name}", self.targets.repository);
        for name in ["new.txt", "ln", "hl", "ff", "victim4.txt"] {
            match fs::remove_file(at(name)) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
        for name in ["a.txt", "victim.txt", "victim2.txt", "victim3.txt"] {
            fs::write(at(name), "contents")?;
        }
        fs::write(&self.targets.ledger, "first record\n")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.sibling.kill();
        let _ = self.sibling.wait();
    }
}

/// Waits for the first byte that the sibling says, so that probes do not meet it before its exec.
fn started(mut sibling: Child) -> io::Result<Child> {
    match sibling.stdout.take() {
        Some(mut said) => said.read_exact(&mut [0])?,
        None => return Err(io::ErrorKind::BrokenPipe.into()),
    }
    Ok(sibling)
}

/// Which address this machine would use to reach a network that nobody uses; nothing is sent there.
fn second_address() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    match socket.local_addr().ok()? {
        SocketAddr::V4(own) if !own.ip().is_loopback() && !own.ip().is_unspecified() => Some(*own.ip()),
        _ => None,
    }
}

/// One process's task: which probe, and at what.
pub struct Job {
    pub probe: String,
    pub targets: Targets,
    /// Whether the process holds a descriptor of the ledger, as worker-audit does; every kind but the one that starts
    /// programs is tried with it, so that its filter shows what it refuses.
    pub holds_ledger: bool,
}

impl Job {
    /// One value a line.
    pub fn to_text(&self) -> String {
        let Targets {
            repository,
            outside,
            key,
            ledger,
            ledger_fd: _,
            sibling,
            supervisor,
            gateway_port,
            other_port,
            second_address,
            unix_path,
            abstract_name,
        } = &self.targets;
        let second = second_address.map(|address| address.to_string()).unwrap_or_default();
        [
            self.probe.clone(),
            repository.clone(),
            outside.clone(),
            key.clone(),
            ledger.clone(),
            sibling.to_string(),
            supervisor.to_string(),
            gateway_port.to_string(),
            other_port.to_string(),
            second,
            unix_path.clone(),
            abstract_name.clone(),
        ]
        .join("\n")
    }

    /// The job of that text.
    pub fn of_text(text: &str) -> Option<Self> {
        let mut lines = text.split('\n').map(str::to_owned);
        let mut next = || lines.next();
        Some(Self {
            probe: next()?,
            targets: Targets {
                repository: next()?,
                outside: next()?,
                key: next()?,
                ledger: next()?,
                ledger_fd: -1,
                sibling: next()?.parse().ok()?,
                supervisor: next()?.parse().ok()?,
                gateway_port: next()?.parse().ok()?,
                other_port: next()?.parse().ok()?,
                second_address: next()?.parse().ok(),
                unix_path: next()?,
                abstract_name: next()?,
            },
            holds_ledger: true,
        })
    }
}
