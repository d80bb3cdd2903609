//! What `doctor` can find out from here: every process's report, its own attempts from inside, and the kernel's word.
//! Trust: reports of workers are theirs; the `/proc` lines beside them are not, and the reader sees both.

use crate::{
    audit::{Mode, clerk::Clerk},
    carrier::{Carrier, Ending},
    errands::{Comparisons, Errand, Notes, RemoteWrites, Scans, Talk, Writes},
    gateway::talk::{Talk as GatewayTalk, Unready},
    lockdown,
    settings::Settings,
    worker::{Fall, ProcStatus, Vigil, Worker},
};
use bulkhead_contract::{
    catalogue::Surface,
    isolation::{Report, Row, Standing},
    path::text_of,
};
use bulkhead_ipc::edge::{
    audit::{FromAudit, ToAudit},
    launcher::StatusOf,
    read::{Ask, Place, Reply},
};
use serde::Serialize;
use std::{future::pending, rc::Rc};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};

/// Everything that was found.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DoctorFacts {
    /// Supervisor, launcher, a worker without a repository, and one with it where a path was given.
    pub processes: Vec<ProcessFacts>,
    /// Canonical path of the repository that the path led to.
    pub repository: Option<String>,
    /// The ledger; `None` where nothing is to be recorded.
    pub audit: Option<AuditFacts>,
    /// The gateway, as far as it can be told without dialling.
    pub gateway: GatewayFacts,
    /// What went wrong while looking, in our own words.
    pub failures: Vec<String>,
    /// What the machine gives of the jail, as the ledger's first record and the handshakes state it.
    pub standing: Standing,
}

/// The ledger as the process that records has it.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditFacts {
    /// Its path, where there is one.
    pub ledger: Option<String>,
    /// Short name of the key that signs; `None` where records are not signed.
    pub key: Option<String>,
    /// The keys' memory is kept out of swap.
    pub key_locked: bool,
    /// Signed statement of where it ends, to be kept outside the machine; `None` before the first record.
    pub head: Option<String>,
    /// Why calls would not be recorded.
    pub problem: Option<String>,
}

/// The way to the application where a person decides on proposals.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewayFacts {
    /// Where it is said to listen; `None` where no gateway is configured.
    pub address: Option<String>,
    /// It has to show that it knows a token.
    pub token: bool,
    /// The token's memory is kept out of swap; `None` where there is no token that can be used.
    pub token_locked: Option<bool>,
}

/// One live process.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessFacts {
    /// For example `worker-read`.
    pub process: String,
    /// What it says it has.
    pub report: Option<Report>,
    /// What came of its trying, from inside, what should be refused.
    pub probe: Option<Report>,
    /// What the kernel says of it.
    pub status: Option<ProcStatus>,
    /// Why there is no `status`.
    pub status_missing: Option<String>,
}

impl DoctorFacts {
    pub(crate) fn failed(why: String) -> Self {
        Self { failures: vec![why], ..Self::default() }
    }

    /// The rows for which `--isolation required` is not met, with the process that they are of.
    pub fn missing(&self) -> impl Iterator<Item = (&str, &Row)> {
        self.processes.iter().flat_map(|of| {
            let reports = of.report.iter().chain(&of.probe);
            reports.flat_map(Report::missing).map(|row| (of.process.as_str(), row))
        })
    }
}

/// What the examination needs of the supervisor.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub settings: &'a Settings,
    pub carrier: &'a Rc<dyn Carrier>,
    pub own: &'a Report,
}

/// Looks at everything that can be looked at.
pub(crate) async fn examine(view: View<'_>, path: Option<&str>) -> DoctorFacts {
    let mut facts = DoctorFacts { standing: view.settings.standing.clone(), ..DoctorFacts::default() };
    let own = of_process(view, lockdown::PROCESS, StatusOf::Supervisor).await;
    facts.processes.push(ProcessFacts { report: Some(view.own.clone()), ..own });
    facts.processes.push(of_process(view, "launcher", StatusOf::Launcher).await);
    of_worker(view, None, &mut facts).await;
    if path.is_some() {
        of_worker(view, path, &mut facts).await;
    }
    of_errand::<Scans>(view, "worker-agents", &mut facts).await;
    of_errand::<Comparisons>(view, "worker-syntax", &mut facts).await;
    of_errand::<Notes>(view, "worker-note", &mut facts).await;
    of_gateway(view, &mut facts).await;
    // with a closed gate there is no such process to look at
    if view.settings.surface != Surface::Review && view.settings.direct.gate.is_open() {
        of_errand::<Writes>(view, "worker-write", &mut facts).await;
        of_errand::<RemoteWrites>(view, "worker-write-net", &mut facts).await;
    }
    if view.settings.audit.mode != Mode::Off {
        of_audit(view, &mut facts).await;
    }
    facts
}

/// Looks at the process that records, and through it at the ledger, unless that is not there yet.
async fn of_audit(view: View<'_>, facts: &mut DoctorFacts) {
    let mut audit = AuditFacts::default();
    match &view.settings.audit.ledger {
        Some(Ok(path)) => audit.ledger = Some(path.clone()),
        Some(Err(why)) => audit.problem = Some(why.clone()),
        None => audit.problem = Some("no ledger is configured".to_owned()),
    }
    match Clerk::start(view.carrier).await {
        Ok(mut clerk) => {
            if let Err(why) = ask(view, &mut clerk, &mut audit, facts).await {
                audit.problem = Some(why);
            }
            clerk.end().await;
        }
        Err(fall) => audit.problem = Some(fall.why),
    }
    facts.audit = Some(audit);
}

async fn ask(view: View<'_>, clerk: &mut Clerk, audit: &mut AuditFacts, facts: &mut DoctorFacts) -> Result<(), String> {
    const ID: u64 = 1;
    let greeted = clerk.greet(view.carrier, view.settings.demand).await;
    let of = clerk.pid().map_or(StatusOf::Supervisor, |pid| StatusOf::Worker { pid });
    let seen = of_process(view, "worker-audit", of).await;
    facts.processes.push(ProcessFacts { report: clerk.report.clone(), ..seen });
    let ready = greeted.map_err(|fall| fall.why)?;
    (audit.key, audit.key_locked) = (ready.key, ready.locked);
    clerk.post(&ToAudit::SelfProbe { id: ID }).map_err(|fall| fall.why)?;
    if let FromAudit::SelfProbe { id: ID, report } = in_time(view, clerk).await?
        && let Some(process) = facts.processes.last_mut()
    {
        process.probe = Some(report);
    }
    if view.settings.audit.exists {
        clerk.open(None).await.map_err(|fall| fall.why)?;
        clerk.post(&ToAudit::Head { id: ID }).map_err(|fall| fall.why)?;
        if let FromAudit::Head { id: ID, text } = in_time(view, clerk).await? {
            audit.head = text;
        }
    }
    Ok(())
}

async fn in_time(view: View<'_>, clerk: &mut Clerk) -> Result<FromAudit, String> {
    let late = |_| "the worker that records did not answer before the deadline".to_owned();
    timeout(view.settings.deadline, clerk.next()).await.map_err(late)?.map_err(|fall| fall.why)
}

async fn of_process(view: View<'_>, process: &str, of: StatusOf) -> ProcessFacts {
    let (status, status_missing) = match view.carrier.status(of).await {
        Ok(text) => (Some(ProcStatus::parse(&text)), None),
        Err(why) => (None, Some(why)),
    };
    ProcessFacts { process: process.to_owned(), report: None, probe: None, status, status_missing }
}

/// Looks at a worker of a kind that belongs to no repository, in its finished jail.
async fn of_errand<E: Errand>(view: View<'_>, process: &str, facts: &mut DoctorFacts) {
    let (ticks, _heard) = mpsc::channel(1);
    let mut vigil = Vigil::new(Instant::now() + view.settings.deadline, pending(), &ticks);
    let (carrier, demand) = (view.carrier, view.settings.demand);
    let mut talk = match Talk::<E>::start(carrier, &mut vigil).await {
        Ok(talk) => talk,
        Err(fall) => return facts.failures.push(told(process, &fall)),
    };
    let mut probed = talk.greet(demand, &mut vigil).await.map(|()| None);
    if probed.is_ok() {
        probed = talk.probe(demand, &mut vigil).await.map(Some);
    }
    let of = talk.pid().map_or(StatusOf::Supervisor, |pid| StatusOf::Worker { pid });
    let seen = of_process(view, process, of).await;
    let mut seen = ProcessFacts { report: talk.report().cloned(), ..seen };
    match probed {
        Ok(probe) => seen.probe = probe,
        Err(fall) => facts.failures.push(told(process, &fall)),
    }
    facts.processes.push(seen);
    talk.end(Ending::Kill).await;
}

/// Looks at the process that talks to the gateway, whether one is configured or not; nothing is dialled.
async fn of_gateway(view: View<'_>, facts: &mut DoctorFacts) {
    const PROCESS: &str = "worker-gateway";
    let told = |unready: Unready| match unready {
        Unready::Fell(fall) => told(PROCESS, &fall),
        Unready::Token(why) => format!("the token for the gateway cannot be used, so nothing is proposed: {why}"),
    };
    let (talk, unready) = match GatewayTalk::start(view.carrier, view.settings.demand).await {
        Ok(talk) => (Some(talk), None),
        Err((talk, unready)) => (talk, Some(unready)),
    };
    facts.gateway = GatewayFacts {
        address: view.settings.gateway.map(|address| address.to_string()),
        token: view.settings.gateway_token,
        token_locked: talk.as_ref().and_then(|talk| talk.token),
    };
    let failed = unready.is_some();
    facts.failures.extend(unready.map(told));
    let Some(mut talk) = talk else { return };
    let of = talk.link.pid().map_or(StatusOf::Supervisor, |pid| StatusOf::Worker { pid });
    let seen = of_process(view, PROCESS, of).await;
    let mut seen = ProcessFacts { report: talk.report.clone(), ..seen };
    if !failed {
        match talk.probe().await {
            Ok(probe) => seen.probe = Some(probe),
            Err(fall) => facts.failures.push(self::told(PROCESS, &fall)),
        }
    }
    // one whose token cannot be used ends before it has a jail to show
    if seen.report.is_some() {
        facts.processes.push(seen);
    }
    talk.end(Ending::Kill).await;
}

async fn of_worker(view: View<'_>, path: Option<&str>, facts: &mut DoctorFacts) {
    let (ticks, _heard) = mpsc::channel(1);
    let mut vigil = Vigil::new(Instant::now() + view.settings.deadline, pending(), &ticks);
    let mut worker = match Worker::start(view.carrier, path, &mut vigil).await {
        Ok(worker) => worker,
        Err(fall) => {
            return facts.failures.push(told("the read worker", &fall));
        }
    };
    let greeted = worker.greet(view.settings.demand, &mut vigil).await;
    let seen = match worker.pid() {
        Some(pid) => of_process(view, "worker-read", StatusOf::Worker { pid }).await,
        None => of_process(view, "worker-read", StatusOf::Supervisor).await,
    };
    let mut seen = ProcessFacts { report: worker.report().cloned(), ..seen };
    let served = match greeted {
        Ok(ready) => {
            let place = path.zip(ready.repository).map(|(path, repository)| {
                facts.repository = Some(text_of(&repository.canonical).0);
                Place { path: path.as_bytes().to_vec(), asked: repository.asked }
            });
            worker.serve(place, Ask::SelfProbe, &mut vigil).await
        }
        Err(fall) => Err(fall),
    };
    match served {
        Ok(Ok(Reply::SelfProbe(probe))) => seen.probe = Some(probe),
        Ok(Ok(_)) => {}
        Ok(Err(failure)) => facts.failures.push(format!("its self-probe failed: {}", failure.details)),
        Err(fall) => facts.failures.push(told("the read worker", &fall)),
    }
    facts.processes.push(seen);
    worker.end(Ending::Kill).await;
}

fn told(who: &str, fall: &Fall) -> String {
    match fall {
        Fall::NotStarted(e) => format!("{who} cannot be started: {e}"),
        Fall::Refused(failure) => format!("calls from the current directory are refused: {}", failure.details),
        Fall::Short { layer, cause } => format!("isolation of {who}: {layer} is missing: {cause}"),
        Fall::Moved => "the path moved while it was looked at".to_owned(),
        Fall::Died { how, .. } | Fall::Unheard { how, .. } => format!("{who} ended: {how}"),
        Fall::Late { .. } => format!("{who} did not answer before the deadline"),
        Fall::Left => format!("{who} was stopped"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carrier::StartError;
    use bulkhead_contract::failure::{ReadFailure, Reason};

    #[test]
    fn a_cause_is_said_once() {
        let fall = Fall::NotStarted(StartError::new("pipe failed: Too many open files"));
        assert_eq!(told("worker-note", &fall), "worker-note cannot be started: pipe failed: Too many open files");
        let fall =
            Fall::Refused(ReadFailure::new(Reason::OutsideRoots, "open", "The path lies outside the allowed roots."));
        let said = told("the read worker", &fall);
        assert_eq!(said, "calls from the current directory are refused: The path lies outside the allowed roots.");
    }
}
