//! Asks a worker in this process one question, again and again, and says how long it took: `ask PATH QUESTION [TIMES [THREADS]]`.
//! Questions are `status`, `changes`, `annotate:FILE`, `annotate:FILE@REVISION` and, for anything else, the brief.
//! Trust: a tool for people who work on the worker; it confines nothing.

use bulkhead_contract::isolation::Demand;
use bulkhead_ipc::edge::{
    asks,
    read::{Ask, Init, OwnerTrust, Page},
};
use bulkhead_worker_read::{
    answers,
    crew::Crew,
    discover::{Bounds, Trust, discover},
    open::Caches,
    operator_config::OperatorConfig,
    pace::Pace,
    repo::{Operator, Repo},
};
use std::{io::Write as _, path::PathBuf, rc::Rc, sync::Arc, time::Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = PathBuf::from(args.next().ok_or("no path")?);
    let page = Page { limit: 1000, chars: 40_000, cursor: None };
    let ask = match args.next().as_deref() {
        Some("status") => Ask::Status(page),
        Some("changes") => Ask::Changes(page),
        Some(question) if question.starts_with("annotate:") => {
            let (path, revision) = question["annotate:".len()..].split_once('@').unzip();
            let path = path.unwrap_or(&question["annotate:".len()..]).to_owned();
            Ask::Annotate(asks::Annotate { path, revision: revision.map(str::to_owned), bytes: 4_000 })
        }
        _ => Ask::Brief { recent_commits: 10 },
    };
    let times: usize = args.next().map_or(Ok(1), |times| times.parse())?;
    let init = Init {
        demand: Demand::Off,
        empty_root: false,
        ceilings: Vec::new(),
        run_dirs: Vec::new(),
        path: None,
        trust: OwnerTrust { any: true, uids: Vec::new() },
        home: None,
        xdg_config_home: None,
        memory: 0,
        threads: 1,
    };
    let config = OperatorConfig::read(&init);
    let trust = Trust::new(&init.trust, &config);
    let ceilings = [PathBuf::from("/")];
    let started = Instant::now();
    let canonical = std::fs::canonicalize(path)?;
    let bytes = bulkhead_worker_read::files::path_bytes(&canonical);
    let found = discover(&bytes, Bounds { ceilings: &ceilings, trust: &trust }).map_err(|failure| failure.details)?;
    let operator = Operator {
        config: Rc::new(config),
        trust: Rc::new(trust),
        ceilings: Rc::from(&ceilings[..]),
        verdicts: Arc::default(),
        directories: 3_000,
        crew: Rc::new(Crew::of(args.next().map_or(Ok(2), |threads| threads.parse())?)),
    };
    let repo = Repo::open(found, operator, Caches::Main).map_err(|failure| failure.details)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "opened in {:?}", started.elapsed())?;
    let mut spent = Vec::new();
    for turn in 0..times.max(1) {
        let pace = Pace::alone(600_000);
        let started = Instant::now();
        let fresh = repo.is_current();
        let answer = answers::answer(&repo, &ask, &pace);
        spent.push(started.elapsed());
        if turn == 0 {
            writeln!(out, "current: {fresh}\n{answer:#?}\nfirst: {:?}", spent[0])?;
        }
    }
    spent.sort();
    writeln!(out, "median of {}: {:?}, least {:?}", spent.len(), spent[spent.len() / 2], spent[0])?;
    Ok(())
}
