//! The conversation: one question, for which the jail is finished; one answer; then the process waits for its end.
//! Trust: the supervisor may be taken over: it chooses the question, never the repository, the programs or the roots.

use crate::{
    bounded::bounded,
    git::{Git, NotRun},
    jail::Jail,
    reach::{self, Remotes},
};
use bulkhead_contract::{address, direct::Class, isolation::Demand};
use bulkhead_ipc::{
    Error,
    channel::WorkerEnds,
    desk::{Desk, Wanted},
    edge::{
        errand::{ErrandCall, FromErrand},
        write::{Allowed, Failed, Init, MAX_REASON, Operation, Outcome, ToWrite},
    },
};
use std::{
    cell::RefCell,
    rc::Rc,
    time::{Duration, Instant},
};

/// What carries an operation out: the question, what the operator allows, and Git.
pub type Perform = fn(&Operation, &Allowed, &Git) -> Outcome;

/// The part of a call's time that Git may take, in tenths: the rest is for ending it and for saying how things stand.
const RUNNING: u32 = 8;

/// Serves one question. `network` says which of the two kinds this is; `jailed` is false on a thread, where nothing is
/// carried out: a Git that a repository took over would have the whole process.
pub fn run(ends: WorkerEnds<ToWrite, FromErrand>, network: bool, jailed: bool, perform: Perform) {
    let Some((mut desk, init)) = Desk::open(ends) else { return };
    if !jailed {
        // ends when the supervisor is gone
        let _ = refuse(&mut desk, "this server runs without isolation (--isolation off), and then it does not write");
        return;
    }
    let Some(allowed) = init.allowed else {
        let _ = refuse(&mut desk, "the operator did not allow writes (--allow-write)");
        return;
    };
    // what runs behind the walls must not reach the locks of other repositories
    #[cfg(unix)]
    let lock = crate::lock::open(&allowed);
    // hooks run behind walls or not at all, whatever is taken for Git alone
    let demanded = init.demand == Demand::Required || allowed.hooks.is_some();
    let agent = allowed.programs.ssh_agent.is_some();
    match Jail::begin(init.memory, reach::ceiling(&allowed, network), network, agent, demanded) {
        Ok(jail) => {
            // ends when the supervisor is gone, when it broke the edge, and when the answer is given
            let desk = Rc::new(RefCell::new(desk));
            let _ = Writer {
                desk,
                allowed,
                jail,
                network,
                perform,
                #[cfg(unix)]
                lock,
            }
            .serve();
        }
        Err(report) => _ = desk.say(&FromErrand::Short(report)),
    }
}

type Ends = Desk<Init, Operation>;

struct Writer {
    desk: Rc<RefCell<Ends>>,
    allowed: Box<Allowed>,
    jail: Jail,
    network: bool,
    perform: Perform,
    #[cfg(unix)]
    lock: crate::lock::Opened,
}

impl Writer {
    fn serve(mut self) -> Result<(), Error> {
        self.say(&FromErrand::Ready(self.jail.report.clone()))?;
        loop {
            let wanted = self.desk.borrow_mut().wanted()?;
            match wanted {
                None => return Ok(()),
                Some(Wanted::Call(call)) => return self.call(&call),
                Some(Wanted::SelfProbe(id)) => {
                    // of an operation that needs nothing besides the repository
                    let least = Operation::Abort;
                    let reach = reach::of(&self.allowed, &least, self.network, &Remotes::default());
                    if self.finish(id, reach)? {
                        let report = self.jail.probe();
                        self.say(&FromErrand::SelfProbe { id, report })?;
                    }
                }
            }
        }
    }

    fn say(&self, message: &FromErrand) -> Result<(), Error> {
        self.desk.borrow_mut().say(message)
    }

    /// Finishes the jail; false where it falls short of the demand, which is said.
    fn finish(&mut self, id: u64, reach: reach::Reach) -> Result<bool, Error> {
        match self.jail.finish(reach) {
            Ok(None) => Ok(true),
            Ok(Some(report)) => self.say(&FromErrand::Closed { id, report }).map(|()| true),
            Err(report) => self.say(&FromErrand::Short(report)).map(|()| false),
        }
    }

    fn call(mut self, call: &ErrandCall<Operation>) -> Result<(), Error> {
        let id = call.id;
        // no honest supervisor asks the one for the other's
        if call.ask.is_remote() != self.network {
            return Ok(());
        }
        let deadline = Instant::now() + Duration::from_millis(u64::from(call.budget_ms)) * RUNNING / 10;
        let waiting = Rc::clone(&self.desk);
        let mut git = Git::new(&self.allowed, deadline).with_umask(self.jail.umask);
        git = git.cancelled_by(move || waiting.borrow_mut().is_left(id));
        #[cfg(unix)]
        {
            git = git.with_lock(std::mem::replace(&mut self.lock, Ok(None)));
        }
        let mut remotes = Ok(Remotes::default());
        if self.network {
            git = git.with_network(&self.allowed);
            // addresses of remotes say which ports and directories the rest of the jail leaves; nothing else is read before
            remotes = Remotes::read(&git, &self.allowed);
        }
        let none = Remotes::default();
        let reach = reach::of(&self.allowed, &call.ask, self.network, remotes.as_ref().unwrap_or(&none));
        let ports = reach.ports.clone();
        let secrets = remotes.as_ref().map(|remotes| remotes.secrets.clone()).unwrap_or_default();
        if !self.finish(id, reach)? {
            return Ok(());
        }
        let mut outcome = match remotes.map(|remotes| remotes.too_many()) {
            Ok(Some(many)) => refused(
                Class::TooLarge,
                many,
                "Take remotes out that are not needed, or do it with Git itself; repo_remotes lists them.",
            ),
            Ok(None) => (self.perform)(&call.ask, &self.allowed, &git),
            Err(why) => failed(&why),
        };
        if let Outcome::Failed(failed) = &mut outcome
            && failed.class == Class::Network
        {
            let said = open(&ports, self.allowed.programs.ports_left_out);
            failed.reason = bounded(std::mem::take(&mut failed.reason), MAX_REASON - said.chars().count()) + &said;
        }
        match &mut outcome {
            Outcome::Done(done) => done.ran = git.ran(),
            Outcome::Failed(failed) => failed.ran = git.ran(),
        }
        without(&mut outcome, &secrets);
        self.desk.borrow_mut().answer(id, &Ok(outcome))?;
        // its end is the supervisor's to cause
        let rest = self.desk.borrow_mut().wanted();
        rest.map(drop)
    }
}

/// Takes out of an outcome what Git said of passwords in addresses: it leaves some of them out by itself, and others in part.
fn without(outcome: &mut Outcome, secrets: &[String]) {
    let mask = |text: &mut String| *text = address::without(text, secrets);
    match outcome {
        Outcome::Done(done) => done.notes.iter_mut().chain(&mut done.ran).for_each(mask),
        Outcome::Failed(failed) => {
            mask(&mut failed.reason);
            failed.ran.iter_mut().for_each(mask);
        }
    }
}

/// Which ports the walls leave, as the end of a reason: a host that was not reached may have been at another.
fn open(ports: &[u16], left_out: bool) -> String {
    let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
    let mut said = match ports.is_empty() {
        true => "\nNo TCP port is meant to be open to this Git.".to_owned(),
        false => format!(
            "\nOf TCP ports, those in the remotes' addresses and in the operator's own ssh configuration are meant to be open to \
             this Git, and no others: {}.",
            ports.join(", ")
        ),
    };
    if left_out {
        said.push_str(
            " That configuration is longer than is read of it, or names more ports than are opened, so that some are missing.",
        );
    }
    said
}

/// What a call comes to that ended before anything was carried out.
fn failed(why: &NotRun) -> Outcome {
    let (class, next) = match why {
        NotRun::Deadline => (Class::Timeout, "nothing was changed; call again, or allow more time (--timeout)"),
        NotRun::Cancelled => (Class::Cancelled, "nothing was changed"),
        NotRun::Spawn(_) => (Class::Failed, "nothing was changed; `bulkhead doctor` shows which git is used, and how"),
    };
    refused(class, why.to_string(), next)
}

/// A failure before which nothing was changed.
fn refused(class: Class, reason: String, next: &str) -> Outcome {
    Outcome::Failed(Box::new(Failed {
        class,
        reason,
        next: next.to_owned(),
        state: None,
        restore_point: None,
        unmerged: Vec::new(),
        ran: Vec::new(),
    }))
}

/// Answers every question by a refusal.
fn refuse(desk: &mut Ends, why: &str) -> Result<(), Error> {
    let report =
        bulkhead_contract::isolation::Report::of("worker-write", bulkhead_sandbox::Enforced::nothing().into_rows());
    desk.say(&FromErrand::Ready(report.clone()))?;
    let mut closed = false;
    while let Some(wanted) = desk.wanted()? {
        let id = match &wanted {
            Wanted::Call(call) => call.id,
            Wanted::SelfProbe(id) => *id,
        };
        if !std::mem::replace(&mut closed, true) {
            desk.say(&FromErrand::Closed { id, report: report.clone() })?;
        }
        match wanted {
            Wanted::SelfProbe(id) => desk.say(&FromErrand::SelfProbe { id, report: report.clone() })?,
            Wanted::Call(call) => {
                desk.answer(call.id, &Ok(refused(Class::Refused, why.to_owned(), "ask the operator")))?;
            }
        }
    }
    Ok(())
}
