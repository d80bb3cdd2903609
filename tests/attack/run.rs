//! From the command line to a line for each attack, a summary, and whether all was safe.
//! Trust: made of verdicts alone.

use super::{
    catalogue::{ATTACKS, Attack, HIT_THE_CARELESS, How},
    document,
    options::Options,
    repositories, streams,
    subject::{Layer, Subject, all_layers},
    support::{hostile::Scene, is_root, slow},
    user,
    verdict::Verdict,
};
use std::{
    collections::VecDeque,
    io::Write as _,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Mutex,
    time::Instant,
};

/// Prints a line for people, also where the test harness reads what is printed.
fn say(line: &str) {
    // whoever reads may be gone; the exit status says all that matters
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Prints every attack.
pub fn list() {
    for attack in ATTACKS {
        say(&format!("{:<5} {}", attack.id, attack.kind));
    }
}

/// Runs what was asked for; whether all was safe.
///
/// # Errors
/// What is wrong with the command line.
pub fn all(options: &Options) -> Result<bool, String> {
    let mut chosen: Vec<&Attack> = ATTACKS.iter().filter(|attack| options.chooses(attack.id)).collect();
    if options.as_user && !slow() {
        chosen.retain(|attack| attack.depends_on_user());
    }
    if let Some(command) = &options.command {
        let mut subject = Subject::foreign(command, options.deadline);
        if command.split_ascii_whitespace().next().is_none() {
            return Err("--command wants a server".to_owned());
        }
        if let Some(name) = &options.without {
            subject = subject.lacking(&layer(name)?);
        }
        let tool = repositories::calibrate(&subject).map_err(|why| format!("{command}: {why}"))?;
        say(&format!("an honest question is put to {tool}"));
        subject.asked = Some(tool);
        return Ok(series(&[subject], &chosen, options.jobs, ""));
    }
    let ours = Subject::ours(&options.product, options.deadline.min(if slow() { u64::MAX } else { 5 }));
    let mut safe = true;
    let layers = match options.without.as_deref() {
        Some("each") => all_layers(),
        Some(name) => vec![layer(name)?],
        None => {
            let who = if options.as_user { "as an ordinary user: " } else { "" };
            safe &= series(&ours, &chosen, options.jobs, who);
            if !options.as_user {
                safe &= document::agrees() && hit_the_careless(&chosen, options.jobs);
            }
            if slow() && !options.as_user { all_layers() } else { Vec::new() }
        }
    };
    for layer in &layers {
        for isolation in ["required", "best-effort"] {
            if options.isolation.as_deref().is_none_or(|only| only == isolation) {
                let lacking = ours.clone().map(|subject| subject.without(layer, isolation));
                safe &= series(&lacking, &chosen, options.jobs, &format!("without {}, {isolation}: ", layer.name));
            }
        }
    }
    if is_root() && !options.as_user && options.without.is_none() && !chosen.is_empty() {
        match user::run(options) {
            Ok(held) => safe &= held,
            Err(why) => say(&format!("SKIPPED  the run as an ordinary user: {why}")),
        }
    }
    Ok(safe)
}

fn layer(name: &str) -> Result<Layer, String> {
    let known: Vec<&str> = all_layers().iter().map(|layer| layer.name).collect();
    let found = all_layers().into_iter().find(|layer| layer.name == name);
    found.ok_or_else(|| format!("there is no layer {name:?}; there are {}", known.join(", ")))
}

/// Every chosen attack on every subject, several at a time; `judged` gets each verdict as it comes.
fn each(subjects: &[Subject], chosen: &[&Attack], jobs: usize, judged: &(dyn Fn(&Attack, &str, f64, &Verdict) + Sync)) {
    let queue: Mutex<VecDeque<&Attack>> = Mutex::new(chosen.iter().copied().collect());
    let next = || queue.lock().expect("no holder panics").pop_front();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(attack) = next() {
                    for (subject, seconds, verdict) in one(attack, subjects) {
                        judged(attack, subject, seconds, &verdict);
                    }
                }
            });
        }
    });
}

fn row(attack: &Attack, subject: &str, seconds: f64) -> String {
    format!("{:<5} {:<28} {subject:<8} {seconds:>5.1} s ", attack.id, attack.kind)
}

/// Prints a line for each verdict and their sum; whether all were good.
fn series(subjects: &[Subject], chosen: &[&Attack], jobs: usize, which: &str) -> bool {
    let since = Instant::now();
    let counts = Mutex::new([0_usize; 3]);
    each(subjects, chosen, jobs, &|attack, subject, seconds, verdict| {
        say(&format!("{which}{} {verdict}", row(attack, subject, seconds)));
        let at = match verdict {
            Verdict::Safe(_) => 0,
            Verdict::Unsafe(_) => 1,
            Verdict::Skipped(_) => 2,
        };
        counts.lock().expect("no holder panics")[at] += 1;
    });
    let [safe, not, skipped] = *counts.lock().expect("no holder panics");
    say(&format!("{which}{safe} safe, {not} unsafe, {skipped} skipped, in {} s", since.elapsed().as_secs()));
    not == 0
}

/// Whether these attacks do what they are there for: a server that takes no care is unsafe in each.
fn hit_the_careless(chosen: &[&Attack], jobs: usize) -> bool {
    let hitting: Vec<&Attack> = chosen.iter().copied().filter(|it| HIT_THE_CARELESS.contains(&it.id)).collect();
    let missed = Mutex::new(0_usize);
    each(&[Subject::careless()], &hitting, jobs, &|attack, subject, seconds, verdict| {
        if matches!(verdict, Verdict::Unsafe(_)) {
            return;
        }
        say(&format!("{} {verdict}: the attack misses who takes no care", row(attack, subject, seconds)));
        *missed.lock().expect("no holder panics") += 1;
    });
    let missed = *missed.lock().expect("no holder panics");
    say(&format!("{} of {} attacks hit a careless server", hitting.len() - missed, hitting.len()));
    missed == 0
}

/// One attack on every subject: its name, the seconds that it took, and what came of it. What is built is built once, since
/// all of them only read.
fn one(attack: &Attack, subjects: &[Subject]) -> Vec<(&'static str, f64, Verdict)> {
    let failed = || Verdict::Unsafe(vec!["the attack itself failed; its panic is on standard error".to_owned()]);
    let scene = match attack.how {
        How::Repositories(build) => match catch_unwind(|| Scene::of(build)) {
            Ok(scene) => scene,
            Err(_) => return vec![("", 0.0, failed())],
        },
        How::Stream(..) | How::Surroundings(_) => Scene::empty(),
    };
    let verdict = |subject: &Subject| match attack.how {
        How::Repositories(_) => repositories::attack(subject, &scene),
        How::Stream(begin, stream) => streams::attack(subject, begin, stream),
        How::Surroundings(surround) => surround(subject),
    };
    let timed = |subject: &Subject| {
        let since = Instant::now();
        // one that fails must not take the other verdicts along
        let verdict = catch_unwind(AssertUnwindSafe(|| verdict(subject))).unwrap_or_else(|_| failed());
        (subject.name, since.elapsed().as_secs_f64(), verdict)
    };
    subjects.iter().map(timed).collect()
}
