//! Kind A: a hostile repository, every tool that reads asked about it, and what must hold whatever it answers.
//! Trust: the repository and the server are both suspects.

use super::{
    client::{At, Client, Opening, cut},
    questions,
    subject::{Honest, Subject, root_of},
    support::{Place, hostile::Scene},
    verdict::Verdict,
};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    path::Path,
    time::{Duration, Instant},
};

/// Memory of its own that one process may have, in KiB.
pub const MAX_KIB: u64 = 256 << 10;
/// Faults after which a repository is not asked further: the verdict stands.
const ENOUGH: usize = 6;

/// How often an honest call is made before it counts as failed.
const HONEST_CALLS: usize = 3;
/// Seconds that the questions of one attack may take together; each repository has its share. What is left then is not
/// asked, and that is said.
const MAX_TIME: u64 = 120;
/// The least and the most of it that one repository gets, in seconds.
const SHARE: (u64, u64) = (10, 40);

/// Attacks the subject with this scene.
pub fn attack(subject: &Subject, scene: &Scene) -> Verdict {
    let honest = scene.inside().join("honest");
    if !honest.exists() {
        scene.honest("honest");
    }
    let distinct: Vec<&Path> = {
        let mut seen = BTreeSet::new();
        scene.repositories.iter().filter(|path| seen.insert(*path)).map(|path| &**path).collect()
    };
    if subject.is_bound() && distinct.iter().all(|path| path.is_symlink()) {
        return Verdict::Skipped("whoever starts it for one repository names that himself".to_owned());
    }
    let groups: Vec<Vec<&Path>> =
        if subject.is_bound() { distinct.into_iter().map(|path| vec![path]).collect() } else { vec![distinct] };
    let repositories = groups.iter().map(Vec::len).sum::<usize>().max(1) as u64;
    let mut tally = Tally { share: (MAX_TIME / repositories).clamp(SHARE.0, SHARE.1), ..Tally::default() };
    for group in groups {
        let roots = if scene.roots.is_empty() { &scene.repositories } else { &scene.roots };
        let roots: Vec<_> = roots.iter().cloned().chain([honest.clone()]).collect();
        let inside = scene.inside();
        let at = At { place: &scene.place, repo: group[0], root: &inside, roots: &roots, reads: true };
        one_server(subject, &at, scene, &group, &honest, &mut tally);
        if tally.faults.len() >= ENOUGH {
            break;
        }
    }
    if scene.fired() {
        tally.faults.push("a program of the repository was run".to_owned());
        forget_marker(&scene.place);
    }
    if subject.is_bound() {
        tally.faults.extend(fresh(subject, &scene.place, &honest));
    }
    let Tally { calls, refused, left, faults, .. } = tally;
    let started = if refused > 0 { format!(", {refused} refused at the start") } else { String::new() };
    let cut = if left > 0 { format!(", {left} not made: the others took too long") } else { String::new() };
    Verdict::of(faults, format!("{calls} calls{started}{cut}"))
}

#[derive(Debug, Default)]
struct Tally {
    calls: usize,
    refused: usize,
    left: usize,
    /// Seconds for the questions about one repository.
    share: u64,
    faults: Vec<String>,
}

/// One server, asked about these repositories.
fn one_server(subject: &Subject, at: &At<'_>, scene: &Scene, group: &[&Path], honest: &Path, tally: &mut Tally) {
    let mut client = match Client::start(subject, at, &scene.secrets) {
        Ok(client) => client,
        Err(why) => return tally.faults.push(format!("it cannot be started: {why}")),
    };
    let shown = |repo: &Path| repo.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if matches!(client.open(), Opening::Open) {
        let tools = client.tools.clone();
        'repositories: for repo in group {
            let (since, share) = (Instant::now(), Duration::from_secs(tally.share));
            for (tool, arguments) in questions::all(&tools, repo, &scene.revisions, &scene.paths) {
                if since.elapsed() > share {
                    tally.left += 1;
                    continue;
                }
                tally.calls += 1;
                let answer = client.call(&tool, &arguments);
                let inner = answer.as_ref().is_some_and(|answer| answer["error"]["code"] == -32603);
                if subject.ours && inner {
                    client.fault(format!("{tool} {arguments}: a fault of its own: {answer:?}"));
                }
                // who is silent once is silent again, and a verdict needs no more
                if answer.is_none() {
                    break 'repositories;
                }
            }
            if !subject.is_bound() {
                honestly(subject, &mut client, honest);
            }
        }
        if !client.is_faulty() && client.until_ping().is_none() {
            let how = client.status().map_or_else(|| "it is silent".to_owned(), |status| status.to_string());
            client.fault(format!("it does not answer any more: {how}"));
        }
    } else if !client.is_faulty() {
        tally.refused += 1;
    }
    let faults = client.end(MAX_KIB);
    tally.faults.extend(faults.into_iter().map(|fault| format!("{}: {fault}", shown(group[0]))));
}

/// The honest call on a running server.
pub fn honestly(subject: &Subject, client: &mut Client, honest: &Path) {
    let Some((tool, arguments)) = questions::honest(&client.tools, honest, subject.asked.as_deref()) else {
        return client.fault("it has no tool that could be asked".to_owned());
    };
    let mut wrong = None;
    // on a loaded machine one may run out of its time; that is no fault while the next one is answered
    for _ in 0..HONEST_CALLS {
        let Some(answer) = client.call(&tool, &arguments) else { return };
        wrong = dishonest(&subject.honest, &answer);
        if wrong.is_none() {
            return;
        }
    }
    if let Some(wrong) = wrong {
        client.fault(format!("an honest call, {tool}, afterwards: {wrong}"));
    }
}

/// What is wrong with the answer to an honest call.
fn dishonest(expected: &Honest, answer: &Value) -> Option<String> {
    let failed = answer.get("error").is_some() || answer["result"]["isError"] == true;
    let text = answer.to_string();
    match expected {
        Honest::Answers if failed => Some(format!("it failed: {}", cut(&text))),
        Honest::Refuses(layer) if !failed => Some(format!("it is answered without {layer}: {}", cut(&text))),
        Honest::Refuses(layer) if !text.contains(layer) => Some(format!("{layer} is not named: {}", cut(&text))),
        _ => None,
    }
}

/// A new server on an honest repository: what was attacked before must not hold it up.
pub fn fresh(subject: &Subject, place: &Place, honest: &Path) -> Vec<String> {
    let root = root_of(honest);
    let at = At { place, repo: honest, root: &root, roots: &[honest.to_owned()], reads: true };
    let mut client = match Client::start(subject, &at, &[]) {
        Ok(client) => client,
        Err(why) => return vec![format!("it cannot be started again: {why}")],
    };
    match client.open() {
        Opening::Open => honestly(subject, &mut client, honest),
        Opening::Refused => {
            let said = cut(&client.stderr());
            client.fault(format!("an honest repository is refused afterwards: {said}"));
        }
        Opening::Failed => {}
    }
    client.end(MAX_KIB)
}

/// Takes the marker away, so that what another subject does shows.
fn forget_marker(place: &Place) {
    let mut open = vec![place.path().to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.file_name() == super::support::hostile::MARKER {
                let _ = std::fs::remove_file(entry.path());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
}

/// Finds out which tool answers an honest question about an honest repository.
///
/// # Errors
/// Why none does.
pub fn calibrate(subject: &Subject) -> Result<String, String> {
    let scene = Scene::empty();
    let honest = scene.honest("repo").path().to_owned();
    let root = root_of(&honest);
    let at = At { place: &scene.place, repo: &honest, root: &root, roots: std::slice::from_ref(&honest), reads: true };
    let mut client = Client::start(subject, &at, &[]).map_err(|why| why.to_string())?;
    if !matches!(client.open(), Opening::Open) {
        return Err(format!(
            "it does not open a session: {}; {}",
            cut(&client.stderr()),
            client.end(MAX_KIB).join("; ")
        ));
    }
    let mut said = "it has no tool that reads and whose arguments can be filled".to_owned();
    for (tool, arguments) in questions::candidates(&client.tools.clone(), &honest) {
        let Some(answer) = client.call(&tool, &arguments) else { break };
        if answer.get("error").is_none() && answer["result"]["isError"] != true {
            return Ok(tool);
        }
        said = cut(&answer.to_string());
    }
    Err(format!("no tool of it answers about an honest repository: {said}"))
}
