//! A worker process: what the launcher executed this image for.
//! Trust: the first two arguments only select; everything else comes in the `Init` frame.

use bulkhead_ipc::edge::WorkerKind;
use std::process::ExitCode;

/// The kind of worker that this process was executed as, if it was.
pub fn asked_for() -> Option<WorkerKind> {
    let mut args = std::env::args_os().skip(1);
    (args.next()? == "worker").then_some(())?;
    WorkerKind::by_name(args.next()?.to_str()?)
}

/// Runs it until the supervisor closes its end.
#[cfg(target_os = "linux")]
pub fn run(kind: WorkerKind) -> ExitCode {
    use bulkhead_ipc::{
        channel::{Stream, WorkerEnds},
        inbox::Inbox,
    };
    // a person typed it: nothing was opened yet
    let refuse = |e| crate::refuse(&format!("only the launcher starts workers ({e})"));
    let (requests, answers) = match bulkhead_sandbox::inherited::worker_pipes() {
        Ok(pipes) => pipes,
        Err(e) => return refuse(e),
    };
    // argv[3] names the launcher: without it, nobody would end this process if the launcher ended before it was heard of
    let launcher = std::env::args().nth(3).and_then(|pid| pid.parse().ok());
    if !launcher.is_some_and(bulkhead_sandbox::inherited::parent_is) {
        return ExitCode::FAILURE;
    }
    let pipes = |requests, answers| (Inbox::new(requests), Stream(answers));
    match kind {
        WorkerKind::Read => {
            let (source, sink) = pipes(requests, answers);
            bulkhead_worker_read::run(WorkerEnds::new(source, sink), true);
        }
        WorkerKind::Audit => {
            let socket = match bulkhead_sandbox::inherited::holder_socket() {
                Ok(socket) => socket,
                Err(e) => return refuse(e),
            };
            let (source, sink) = pipes(requests, answers);
            bulkhead_worker_audit::run(WorkerEnds::new(source, sink), bulkhead_worker_audit::Files::Held(socket));
        }
        WorkerKind::Agents => {
            let (source, sink) = pipes(requests, answers);
            bulkhead_worker_agents::run(WorkerEnds::new(source, sink), true);
        }
        WorkerKind::Note => {
            let (source, sink) = pipes(requests, answers);
            bulkhead_worker_agents::run_note(WorkerEnds::new(source, sink), true);
        }
        WorkerKind::Syntax => {
            let (source, sink) = pipes(requests, answers);
            bulkhead_worker_syntax::run(WorkerEnds::new(source, sink), true);
        }
        WorkerKind::Write | WorkerKind::WriteNet => {
            let (source, sink) = pipes(requests, answers);
            let perform = bulkhead_worker_write::operations::perform;
            bulkhead_worker_write::run(WorkerEnds::new(source, sink), kind == WorkerKind::WriteNet, true, perform);
        }
        WorkerKind::Gateway => {
            let dialler = match bulkhead_sandbox::inherited::holder_socket() {
                Ok(socket) => socket,
                Err(e) => return refuse(e),
            };
            bulkhead_worker_gateway::run(bulkhead_worker_gateway::Ends::Process { requests, answers, dialler });
        }
    }
    ExitCode::SUCCESS
}

/// Worker processes exist on Linux only; elsewhere workers are threads.
#[cfg(not(target_os = "linux"))]
pub fn run(_: WorkerKind) -> ExitCode {
    crate::refuse("this system has no worker processes")
}
