//! Starting the house: launcher first, while there is one thread and nothing was read; then the supervisor.
//! Trust: nothing hostile has been read when this is done.

use crate::options::Options;
use bulkhead_contract::isolation::Demand;
use bulkhead_supervisor::{carrier::threads::WorkerTable, direct::CommandLog, settings::Settings, start::Means};
use std::{
    io::{IsTerminal as _, Write as _},
    process::ExitCode,
    sync::{Arc, Mutex},
};

/// Serves MCP on standard input and output until the client closes it.
pub fn run(options: Options) -> ExitCode {
    if std::io::stdin().is_terminal() {
        let _ = writeln!(
            std::io::stderr(),
            "bulkhead speaks MCP on standard input and output, for an MCP host to start it; try `bulkhead call \
             repo.brief` or `bulkhead --help`"
        );
    }
    if let Some(why) = &options.ceiling.invalid {
        crate::complain(&format!("the roots cannot be used, so every call will be refused: {why}"));
    }
    match means(&options).and_then(|means| Ok((means, settings(options)?))) {
        Ok((means, settings)) => exit_code(bulkhead_supervisor::start::serve(settings, means)),
        Err(e) => {
            crate::complain(&format!("cannot start: {e}"));
            ExitCode::FAILURE
        }
    }
}

/// The settings, with the file that commands are logged in open: no other process gets it.
///
/// # Errors
/// It cannot be opened any more.
pub fn settings(options: Options) -> std::io::Result<Settings> {
    let mut settings = options.settings;
    if let Some(file) = &options.command_log {
        let file = crate::direct::log_file(file).map_err(std::io::Error::other)?;
        settings.direct.log_commands = Some(CommandLog::File(Arc::new(Mutex::new(file))));
    }
    Ok(settings)
}

/// How workers are had: as processes of a launcher that starts here, or as threads.
///
/// # Errors
/// The launcher could not be started.
pub fn means(options: &Options) -> std::io::Result<Means> {
    #[cfg(target_os = "linux")]
    if options.settings.demand != Demand::Off {
        bulkhead_sandbox::inherited::shed();
        let table = bulkhead_launcher::Table::new(options.inits.clone()).map_err(std::io::Error::other)?;
        let forked = bulkhead_launcher::start(table)?;
        return Ok(Means::Launcher { socket: forked.socket, pid: forked.pid });
    }
    debug_assert_eq!(options.settings.demand, Demand::Off);
    let _ = writeln!(
        std::io::stderr(),
        "bulkhead: isolation is off: one process, nothing is confined; `bulkhead doctor` says what that means"
    );
    let table = WorkerTable {
        read: |ends| bulkhead_worker_read::run(ends, false),
        audit: |ends| bulkhead_worker_audit::run(ends, bulkhead_worker_audit::Files::Own),
        agents: |ends| bulkhead_worker_agents::run(ends, false),
        syntax: |ends| bulkhead_worker_syntax::run(ends, false),
        note: |ends| bulkhead_worker_agents::run_note(ends, false),
        gateway: |ends| bulkhead_worker_gateway::run(bulkhead_worker_gateway::Ends::Thread(ends)),
        // both kinds refuse on a thread
        write: |ends| bulkhead_worker_write::run(ends, false, false, bulkhead_worker_write::operations::perform),
    };
    Ok(Means::Threads { table, inits: Box::new(options.inits.clone()) })
}

/// The exit status as a number from 0 to 255.
pub fn exit_code(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
