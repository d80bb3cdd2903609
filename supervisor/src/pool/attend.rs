//! The task of one worker, from its start to its end: one job at a time, then rest, then the next.
//! Trust: what the worker does is judged in `worker`; here its fall frees its place and costs one call at most.

use super::{Job, Shared, Verdict, roster::Chance};
use crate::{
    carrier::{Ended, Ending},
    log,
    outcome::CallError,
    route::Home,
    worker::Worker,
};
use std::rc::Rc;
use tokio::{
    sync::mpsc,
    task::spawn_local,
    time::{Instant, sleep},
};

impl Shared {
    /// Gives the job to a worker, or has it wait for one.
    pub(super) fn place(self: &Rc<Self>, job: Box<Job>) -> Result<(), CallError> {
        {
            let state = &mut *self.state.borrow_mut();
            let refused = |why: &str| Err(CallError::Unavailable { why: why.to_owned() });
            if state.closing {
                return refused("the server is ending");
            }
            if state.roster.queue_is_full() {
                return refused("too many calls wait for a worker");
            }
            state.roster.wait(job);
        }
        self.sweep();
        Ok(())
    }

    /// Sees which of the waiting calls can begin now, in the order in which they came. One that cannot does not hold up
    /// those behind it.
    fn sweep(self: &Rc<Self>) {
        let state = &mut *self.state.borrow_mut();
        if state.closing {
            return;
        }
        let mut wanted = 0;
        for job in state.roster.take_queue() {
            let home = state.routes.home(&job.path);
            match state.roster.seek(home, job) {
                Chance::Given => {}
                Chance::Start(id, jobs, job) => drop(spawn_local(attend(Rc::clone(self), id, job, jobs))),
                Chance::Wait { job, room } => {
                    wanted += usize::from(room);
                    state.roster.wait(job);
                }
            }
        }
        state.roster.make_room(wanted);
    }
}

/// Serves `first` and what comes after it until the worker falls or is not needed any more, and frees its place when it
/// is gone.
async fn attend(pool: Rc<Shared>, id: u64, first: Box<Job>, mut jobs: mpsc::Receiver<Box<Job>>) {
    if let Some((mut worker, ending)) = live(&pool, id, first, &mut jobs).await {
        pool.state.borrow_mut().roster.ending(id);
        // a job that was on its way when the worker fell has not begun: it gets another one
        while let Ok(job) = jobs.try_recv() {
            pool.state.borrow_mut().roster.wait(job);
        }
        pool.sweep();
        let ours = worker.is_live() || pool.state.borrow().closing;
        let ended = worker.end(ending).await;
        log::info(&farewell(worker.name(), ours, &ended));
    }
    pool.state.borrow_mut().roster.gone(id);
    pool.sweep();
}

/// Lives with one worker; gives it back when it is to end.
async fn live(
    pool: &Rc<Shared>,
    id: u64,
    first: Box<Job>,
    jobs: &mut mpsc::Receiver<Box<Job>>,
) -> Option<(Worker, Ending)> {
    let mut job = first;
    let path = Rc::clone(&job.path);
    let started = Worker::start(&pool.carrier, Some(&path), &mut job.vigil()).await;
    let mut worker = match started {
        Ok(worker) => worker,
        Err(fall) => {
            pool.judge(job, None, Err(fall));
            return None;
        }
    };
    let greeted = worker.greet(pool.settings.demand, &mut job.vigil()).await;
    match greeted {
        Ok(ready) => {
            if let Some(repository) = &ready.repository {
                let state = &mut *pool.state.borrow_mut();
                let route = state.routes.learn(&job.path, repository);
                state.roster.settle(id, &Home::Path(Rc::clone(&job.path)), &route.home);
            }
            pool.tell_what_is_missing(&ready.report);
            log::info(&format!("{} is ready", worker.name()));
            // others that wait for this path now know where it leads
            pool.sweep();
        }
        Err(fall) => {
            pool.judge(job, Some(&worker), Err(fall));
            return Some((worker, Ending::Kill));
        }
    }
    loop {
        let route = pool.state.borrow_mut().routes.known(&job.path);
        if let Some(route) = route {
            let (place, ask) = (route.place(&job.path), job.ask.clone());
            let served = worker.serve(Some(place), ask, &mut job.vigil()).await;
            let fell = served.is_err();
            pool.judge(job, Some(&worker), served.map(|answer| (route, answer)));
            if fell {
                return Some((worker, Ending::Kill));
            }
        } else {
            // forgotten between being given and being served: it is looked at anew
            let _ = job.reply.send(Verdict::Moved);
        }
        if !pool.state.borrow_mut().roster.rest(id, Instant::now()) {
            return Some((worker, Ending::Dismiss));
        }
        pool.sweep();
        job = tokio::select! {
            biased;
            fall = worker.rest() => {
                pool.fell_idle(id, &worker, &fall);
                return Some((worker, Ending::Kill));
            }
            next = jobs.recv() => match next {
                Some(job) => job,
                None => return Some((worker, Ending::Dismiss)),
            },
            () = sleep(pool.settings.idle_stop) => return Some((worker, Ending::Dismiss)),
        };
    }
}

/// What the log says of a worker's end. `ours`: it lived until we ended it, and then SIGKILL is no news.
fn farewell(name: &str, ours: bool, ended: &Ended) -> String {
    match ended {
        Ended::Signal(SIGKILL) if ours => format!("{name} stopped"),
        Ended::Exit(0) if ours => format!("{name} stopped"),
        ended => format!("{name} ended: {ended}"),
    }
}

/// How a launcher ends a worker.
const SIGKILL: i32 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_we_stopped_is_not_said_to_have_died() {
        assert_eq!(farewell("w", true, &Ended::Signal(SIGKILL)), "w stopped");
        assert_eq!(farewell("w", false, &Ended::Signal(SIGKILL)), "w ended: signal 9");
        assert_eq!(farewell("w", true, &Ended::Signal(6)), "w ended: signal 6");
    }
}
