//! From settings to a running supervisor, in the only order that works: descriptors, jail, threads, standard input.
//! Trust: settings are the operator's; nothing of a client is read before the jail is on.

use crate::{
    audit::Audit,
    carrier::{
        Carrier,
        threads::{Threads, WorkerTable},
    },
    doctor::{self, DoctorFacts},
    lockdown, log,
    mcp::{self, CallOutput, stdio},
    pool::Pool,
    settings::Settings,
};
use bulkhead_contract::{
    catalogue::Surface,
    isolation::{Demand, Report, Standing},
};
use bulkhead_ipc::edge::Inits;
use serde_json::Value;
use std::{
    io::{self, Write},
    rc::Rc,
    time::Duration,
};
use tokio::{
    runtime::{Builder, Runtime},
    task::LocalSet,
};

#[cfg(target_os = "linux")]
use crate::carrier::{launcher::Launcher, watched::watch};
#[cfg(target_os = "linux")]
use bulkhead_sandbox::{children::await_end, signals::StopSignals};
#[cfg(target_os = "linux")]
use std::os::fd::{AsFd, OwnedFd};

/// Exit code when the supervisor cannot even begin.
pub const EXIT_CANNOT_START: i32 = 1;
/// Exit code when answers were lost at the end of input, because nobody read them.
pub const EXIT_UNREAD: i32 = 1;
/// Exit code of the direct surface alone when the input ended before anything was said.
pub const EXIT_UNHEARD: i32 = 1;
/// Time for what is still to be written when all is over.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// Time in which the launcher is expected to end once its socket is closed; after that, whoever outlives us takes it away.
#[cfg(target_os = "linux")]
const LAUNCHERS_END: Duration = Duration::from_millis(300);

/// How workers are had.
#[derive(Debug)]
pub enum Means {
    /// From a launcher, as processes. Hardened mode.
    #[cfg(target_os = "linux")]
    Launcher {
        /// SEQPACKET socket to it, non-blocking.
        socket: OwnedFd,
        /// Its process id; where it is a child of ours, it is taken away when it has ended.
        pid: i32,
    },
    /// On threads of this process. Single-process mode, for `--isolation off`.
    Threads {
        /// The main functions.
        table: WorkerTable,
        /// What a launcher would tell each of them first.
        inits: Box<Inits>,
    },
}

/// Serves MCP on standard input and output until the input ends or a signal asks to stop. The result is the exit code:
/// 0, [`EXIT_CANNOT_START`], [`EXIT_UNREAD`] or [`EXIT_UNHEARD`].
#[must_use]
pub fn serve(settings: Settings, means: Means) -> i32 {
    // before the jail, which shows nothing of what a descriptor is
    let streams = stdio::Streams::look();
    // the direct contract has a status for it (`flags.md`)
    let unheard_fails = settings.surface == Surface::Direct;
    let program = settings.direct.program;
    let mut house = match House::build(settings, means) {
        Ok(house) => house,
        Err(e) => return cannot_start(&e),
    };
    let (io, mut flushed) = match house.local.block_on(&house.runtime, async { streams.start() }) {
        Ok(started) => started,
        Err(e) => return cannot_start(&e),
    };
    house.flushed = Some(flushed.clone());
    let served = house.run(async |house, pool| {
        let end = mcp::run(io, Rc::new(pool), Rc::clone(&house.settings), house.audit.clone()).await;
        match flushed.wait_while_read(mcp::UNREAD).await {
            false => mcp::End::Unread,
            true => end,
        }
    });
    let lost = served == Some(mcp::End::Unread);
    if lost {
        log::warn("standard input has ended and nobody reads standard output: answers were lost");
    }
    log::flush(LAST_WORDS);
    match served {
        Some(mcp::End::Unread) => EXIT_UNREAD,
        Some(mcp::End::Unheard) if unheard_fails => {
            // a closed standard error is no reason to panic
            let _ = writeln!(io::stderr(), "{program}: standard input ended before the first message");
            EXIT_UNHEARD
        }
        _ => 0,
    }
}

/// Answers one tool call and ends.
#[must_use]
pub fn call(settings: Settings, means: Means, tool: &str, arguments: Value) -> CallOutput {
    let output = match House::build(settings, means) {
        Ok(house) => {
            house.run(async |house, pool| mcp::call_once(&pool, &house.settings, &house.audit, tool, &arguments).await)
        }
        Err(e) => {
            cannot_start(&e);
            None
        }
    };
    log::flush(LAST_WORDS);
    output.unwrap_or_else(|| {
        let error = mcp::jsonrpc::RpcError::new(
            bulkhead_contract::failure::code::INTERNAL,
            "Internal error",
            "the call was stopped before it had an answer",
        );
        CallOutput { payload_json: serde_json::json!({ "error": error.json() }).to_string(), is_error: true }
    })
}

/// Looks at the isolation of every process that a call would meet, at those of `path` too where one is given.
#[must_use]
pub fn doctor(settings: Settings, means: Means, path: Option<String>) -> DoctorFacts {
    let facts = match House::build(settings, means) {
        Ok(house) => house.run(async |house, _pool| doctor::examine(house.view(), path.as_deref()).await),
        Err(e) => Some(DoctorFacts::failed(format!("the supervisor cannot start: {e}"))),
    };
    log::flush(LAST_WORDS);
    facts.unwrap_or_else(|| DoctorFacts::failed("stopped by a signal".to_owned()))
}

fn cannot_start(e: &io::Error) -> i32 {
    // a closed standard error is no reason to panic
    let _ = writeln!(io::stderr(), "bulkhead: the supervisor cannot start: {e}");
    EXIT_CANNOT_START
}

/// The supervisor without its client.
struct House {
    runtime: Runtime,
    local: LocalSet,
    settings: Rc<Settings>,
    carrier: Rc<dyn Carrier>,
    own: Report,
    audit: Audit,
    stop: Stop,
    /// Where there is a client: when all that it was sent is written.
    flushed: Option<stdio::Flushed>,
    /// The launcher's process.
    #[cfg(target_os = "linux")]
    launcher: Option<i32>,
}

impl House {
    fn build(mut settings: Settings, means: Means) -> io::Result<Self> {
        // descriptors: the runtime's, and the one that signals come in by
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let local = LocalSet::new();
        let stop = local.block_on(&runtime, async { Stop::watch() })?;
        #[cfg(target_os = "linux")]
        let launcher = match &means {
            Means::Launcher { pid, .. } => Some(*pid),
            Means::Threads { .. } => None,
        };
        // the jail, which leaves nothing to open
        let (carrier, (own, standing)): (Rc<dyn Carrier>, _) = match means {
            #[cfg(target_os = "linux")]
            Means::Launcher { socket, pid } => {
                let own = match settings.demand {
                    Demand::Off => lockdown::untried(settings.demand, "--isolation off"),
                    Demand::Required | Demand::BestEffort => lockdown::confine(socket.as_fd(), settings.demand),
                };
                let launcher = local.block_on(&runtime, async { Launcher::new(socket) })?;
                log::debug(&format!("the launcher is process {pid}"));
                (Rc::new(launcher), own)
            }
            Means::Threads { table, inits } => {
                let why = if cfg!(target_os = "linux") { "--isolation off" } else { "a single process on this system" };
                let own = lockdown::untried(settings.demand, why);
                (Rc::new(Threads::new(table, *inits)), own)
            }
        };
        log::start(settings.log, settings.log_json);
        if settings.demand == Demand::BestEffort {
            for row in own.missing() {
                log::warn(&format!("isolation of the supervisor: {} is missing: {}", row.capability, row.evidence));
            }
        }
        settings.standing = Standing { hooks: settings.direct.hooks, ..standing };
        let audit = Audit::new(&settings, Rc::clone(&carrier));
        Ok(Self {
            runtime,
            local,
            audit,
            settings: Rc::new(settings),
            carrier,
            own,
            stop,
            flushed: None,
            #[cfg(target_os = "linux")]
            launcher,
        })
    }

    /// Runs `work` until it is done or a signal asks to stop, and ends all workers; `None` after a signal.
    fn run<T>(mut self, work: impl AsyncFnOnce(&House, Pool) -> T) -> Option<T> {
        let pool = Pool::new(Rc::clone(&self.settings), Rc::clone(&self.carrier), &self.own);
        pool.tell(self.audit.clone());
        let flushed = self.flushed.take();
        let done = self.local.block_on(&self.runtime, async {
            let done = tokio::select! {
                biased;
                done = work(&self, pool.clone()) => Some(done),
                () = self.stop.stopped() => None,
            };
            pool.settle().await;
            self.audit.close().await;
            pool.close().await;
            if let Some(mut flushed) = flushed {
                // nobody may be reading: then what is left is lost, and the end is not delayed
                let _ = flushed.wait(LAST_WORDS).await;
            }
            done
        });
        #[cfg(target_os = "linux")]
        let launcher = self.launcher;
        // the tasks go with it, and the launcher's socket with its task
        drop((self, pool));
        #[cfg(target_os = "linux")]
        if launcher.is_some_and(|pid| !await_end(pid, LAUNCHERS_END)) {
            log::debug("the launcher takes long to end and is left to itself");
        }
        done
    }

    fn view(&self) -> doctor::View<'_> {
        doctor::View { settings: &self.settings, carrier: &self.carrier, own: &self.own }
    }
}

/// What asks the supervisor to stop.
#[cfg(target_os = "linux")]
struct Stop(tokio::io::unix::AsyncFd<StopSignals>);

#[cfg(target_os = "linux")]
impl Stop {
    fn watch() -> io::Result<Self> {
        Ok(Self(watch(StopSignals::watch()?, tokio::io::Interest::READABLE)?))
    }

    async fn stopped(&self) {
        loop {
            let Ok(mut guard) = self.0.readable().await else { return };
            match guard.try_io(|signals| signals.get_ref().read()?.ok_or_else(|| io::ErrorKind::WouldBlock.into())) {
                Ok(Ok(signal)) => return log::info(&format!("signal {signal} asks to stop")),
                Ok(Err(e)) => return log::warn(&format!("signals cannot be read: {e}")),
                Err(_none) => {}
            }
        }
    }
}

/// Elsewhere the system's own way of ending a process holds.
#[cfg(not(target_os = "linux"))]
struct Stop;

#[cfg(not(target_os = "linux"))]
impl Stop {
    fn watch() -> io::Result<Self> {
        Ok(Self)
    }

    async fn stopped(&self) {
        std::future::pending().await
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use bulkhead_sandbox::spawn::set_nonblocking;
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
    use std::process::Command;

    #[test]
    fn no_zombie_is_left_of_the_launcher() {
        let (socket, theirs) =
            socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC).expect("a pair");
        set_nonblocking(&socket).expect("a socket");
        // ends when our end is closed, as the launcher does
        let mut launcher = Command::new("cat").stdin(theirs).spawn().expect("cat is there");
        let pid = launcher.id().try_into().expect("a pid");
        let settings = Settings { demand: Demand::Off, ..mcp::tests::settings() };
        let house = House::build(settings, Means::Launcher { socket, pid }).expect("a runtime");
        assert_eq!(house.run(async |_house, _pool| 7), Some(7));
        assert!(launcher.wait().is_err(), "a zombie could still be waited for");
    }
}
