//! Latency of a call on a warm worker: request line written → answer line read, interleaved with what it is compared to.
//! Trust: our own fixture. `BULKHEAD_REFERENCE="program args"` adds the reference, `BULKHEAD_BENCH_REPO=DIR[,DIR…]`
//! repositories, `BULKHEAD_BENCH_TOOLS=NAME[,NAME…]` leaves the others out, `BULKHEAD_BENCH_ROUNDS=N` changes how often.

mod support;

use std::{
    path::Path,
    time::{Duration, Instant},
};
use support::{
    Figures, Server, ours, say,
    tools::{self, Question},
};

/// Calls of ours that are timed.
const ROUNDS: usize = 200;
/// Of git and of the reference.
const THEIR_ROUNDS: usize = 20;
/// Time for one row of the table; a slow answer is asked for less often.
const TIME: Duration = Duration::from_secs(20);
/// Untimed calls before.
const WARM: usize = 5;

fn main() {
    let (_keep, root) = support::fixture();
    let mut cells = Cells::default();
    compare(&root, &root.join("rich"), "rich", &mut cells);
    for name in std::env::var("BULKHEAD_BENCH_REPO").unwrap_or_default().split(',').filter(|name| !name.is_empty()) {
        let repository = Path::new(name).canonicalize().expect("BULKHEAD_BENCH_REPO exists");
        let short = repository.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        compare(&repository, &repository, &short, &mut cells);
    }
    cells.sum_up();
}

/// Ratios of all rows.
#[derive(Default)]
struct Cells {
    git: Vec<(f64, String)>,
    reference: Vec<(f64, String)>,
}

impl Cells {
    fn sum_up(mut self) {
        for (name, cells) in [("git", &mut self.git), ("the reference", &mut self.reference)] {
            cells.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (Some((worst, of)), Some((median, _))) = (cells.first(), cells.get(cells.len() / 2)) else { continue };
            let slower = cells.iter().filter(|(ratio, _)| *ratio < 1.0).count();
            say(&format!(
                "against {name}: median {median:.1} x, worst {worst:.1} x ({of}), {slower} of {} cells slower than it",
                cells.len()
            ));
        }
    }
}

/// The servers that are asked.
struct Servers {
    jailed: Server,
    single: Server,
    reference: Option<Server>,
}

fn compare(root: &Path, repository: &Path, name: &str, cells: &mut Cells) {
    let mut servers = Servers {
        jailed: Server::start(&ours(&[], root), root),
        single: Server::start(&ours(&["--isolation", "off"], root), root),
        reference: support::reference().map(|command| Server::start(&command, root)),
    };
    for server in
        [Some(&mut servers.jailed), Some(&mut servers.single), servers.reference.as_mut()].into_iter().flatten()
    {
        server.initialize();
    }
    let listed = servers.jailed.ask("tools/list", "{}");
    let wanted = std::env::var("BULKHEAD_BENCH_TOOLS").ok();
    let is_wanted = |tool: &str| wanted.as_deref().is_none_or(|wanted| wanted.split(',').any(|name| name == tool));
    say("");
    say(&format!("| on {name} | jailed p50 | p95 | off p50 | tax | git p50 | x | reference p50 | x |"));
    say("|---|---|---|---|---|---|---|---|---|");
    for question in tools::questions(repository) {
        if listed.contains(&format!("\"{}\"", question.tool)) && is_wanted(question.tool) {
            row(&question, repository, name, &mut servers, cells);
        }
    }
}

fn row(question: &Question, repository: &Path, name: &str, servers: &mut Servers, cells: &mut Cells) {
    let Question { tool, arguments, .. } = question;
    for _ in 0..WARM {
        if let Err(answer) = servers.jailed.try_call(tool, arguments) {
            say(&format!("| {tool} | refused: {answer:.120} |"));
            return;
        }
        let _ = servers.single.try_call(tool, arguments);
    }
    let mut theirs = servers.reference.as_mut();
    if theirs.as_mut().is_some_and(|reference| reference.try_call(tool, arguments).is_err()) {
        theirs = None;
    }
    let rounds = std::env::var("BULKHEAD_BENCH_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let (mut jailed, mut single, mut git, mut reference) =
        (Figures::default(), Figures::default(), Figures::default(), Figures::default());
    let started = Instant::now();
    for round in 0..rounds {
        jailed.take(|| servers.jailed.try_call(tool, arguments).expect("it answered before"));
        single.take(|| servers.single.try_call(tool, arguments).expect("it answered before"));
        if round % rounds.div_ceil(THEIR_ROUNDS).max(1) == 0 {
            if !question.git.is_empty() {
                git.take(|| tools::git(repository, &question.git));
            }
            if let Some(server) = &mut theirs {
                let _ = reference.take(|| server.try_call(tool, arguments).is_ok());
            }
        }
        if started.elapsed() > TIME && round >= 4 {
            break;
        }
    }
    let ours = jailed.at(0.5);
    let other = |figures: &Figures, into: &mut Vec<(f64, String)>| {
        if figures.is_empty() {
            return ("-".to_owned(), "-".to_owned());
        }
        let ratio = figures.at(0.5) / ours;
        into.push((ratio, format!("{tool} on {name}")));
        (format!("{:.2} ms", figures.at(0.5)), format!("{ratio:.1}"))
    };
    let (git, git_ratio) = other(&git, &mut cells.git);
    let (reference, reference_ratio) = other(&reference, &mut cells.reference);
    say(&format!(
        "| `{tool}` | {ours:.2} ms | {:.2} ms | {:.2} ms | {:+.2} ms | {git} | {git_ratio} | {reference} | {reference_ratio} |",
        jailed.at(0.95),
        single.at(0.5),
        ours - single.at(0.5),
    ));
}
