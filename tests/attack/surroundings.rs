//! Kind C: surroundings that lack something, take something away, or are not what the server was told.
//! Trust: the machine is this one, seen through filters and limits.

use super::{
    client::{At, Client, Opening, cut},
    questions,
    repositories::{MAX_KIB, fresh, honestly},
    subject::{Honest, Layer, Subject, all_layers, root_of},
    support::{Repo, hostile::Scene, process},
    verdict::Verdict,
};
use nix::sys::signal::Signal;
use serde_json::json;
use std::{fs, os::unix::fs::symlink, path::Path, time::Duration};

/// One kind of surroundings.
pub type Surround = fn(&Subject) -> Verdict;

/// What a machine without one of these layers comes to.
fn lacking(subject: &Subject, names: &[&str]) -> Verdict {
    if !subject.filters.is_empty() {
        return Verdict::Skipped("a layer is missing already".to_owned());
    }
    let scene = Scene::empty();
    let honest = scene.honest("repo").path().to_owned();
    let layers: Vec<Layer> = all_layers().into_iter().filter(|layer| names.contains(&layer.name)).collect();
    let mut faults = Vec::new();
    for layer in &layers {
        if subject.ours {
            for isolation in ["required", "best-effort"] {
                let lacking = subject.clone().without(layer, isolation);
                let found = match &lacking.honest {
                    Honest::Answers if layer.demanded.is_some() => says_so(&lacking, &scene, &honest),
                    _ => fresh(&lacking, &scene.place, &honest),
                };
                faults.extend(found.into_iter().map(|fault| format!("without {}, {isolation}: {fault}", layer.name)));
            }
        } else {
            let found = ends_well(&subject.clone().lacking(layer), &scene, &honest);
            faults.extend(found.into_iter().map(|fault| format!("without {}: {fault}", layer.name)));
        }
    }
    Verdict::of(faults, names.join(", "))
}

/// Best effort answers, and says in its first words that it is no more than that.
fn says_so(subject: &Subject, scene: &Scene, honest: &Path) -> Vec<String> {
    with(subject, scene, honest, |client| {
        honestly(subject, client, honest);
        if !client.instructions.to_lowercase().contains("best effort") {
            let said = cut(&client.instructions);
            client.fault(format!("it does not say that a layer is missing: {said}"));
        }
    })
}

/// A server may refuse to begin, refuse to answer, or answer; it may not hang, or die of it.
fn ends_well(subject: &Subject, scene: &Scene, repo: &Path) -> Vec<String> {
    with(subject, scene, repo, |client| {
        let Some((tool, arguments)) = questions::honest(&client.tools, repo, subject.asked.as_deref()) else { return };
        client.call(&tool, &arguments);
        if !client.is_faulty() && client.until_ping().is_none() {
            client.fault("it does not answer a ping after that".to_owned());
        }
    })
}

/// Starts it, does this where it begins, and gives the faults.
fn with(subject: &Subject, scene: &Scene, repo: &Path, then: impl FnOnce(&mut Client)) -> Vec<String> {
    let root = root_of(repo);
    let at = At { place: &scene.place, repo, root: &root, roots: &[repo.to_owned()], reads: true };
    let mut client = match Client::start(subject, &at, &scene.secrets) {
        Ok(client) => client,
        Err(why) => return vec![format!("it cannot be started: {why}")],
    };
    if matches!(client.open(), Opening::Open) {
        then(&mut client);
    }
    client.end(MAX_KIB)
}

/// P01: a kernel without Landlock, and without namespaces in its place.
pub fn without_landlock(subject: &Subject) -> Verdict {
    lacking(subject, &["landlock"])
}

/// P02: Landlock that an outer filter forbids, or that was disabled at boot.
pub fn landlock_forbidden(subject: &Subject) -> Verdict {
    lacking(subject, &["landlock-eperm", "landlock-off"])
}

/// P03: everything else that can be missing.
pub fn without_others(subject: &Subject) -> Verdict {
    lacking(subject, &["seccomp", "namespaces", "pidfd", "clone3", "close_range", "openat2"])
}

/// P08: the server is killed during a call; nobody that it started may stay.
pub fn killed(subject: &Subject) -> Verdict {
    let scene = Scene::empty();
    let honest = scene.honest("repo").path().to_owned();
    let mut seen = 0;
    let faults = with(subject, &scene, &honest, |client| {
        honestly(subject, client, &honest);
        let Some((tool, arguments)) = questions::honest(&client.tools, &honest, subject.asked.as_deref()) else {
            return;
        };
        client.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        client.watch().look();
        seen = client.watch().peaks().len();
        // whoever is left is found when it is over
        client.kill();
    });
    Verdict::of(faults, format!("{seen} processes"))
}

/// P09: the launcher is killed; new work is refused by its name, and the end is orderly.
pub fn launcher_killed(subject: &Subject) -> Verdict {
    if !subject.ours {
        return Verdict::Skipped("which process starts others is known of this product alone".to_owned());
    }
    let scene = Scene::empty();
    let honest = scene.honest("repo").path().to_owned();
    let faults = with(subject, &scene, &honest, |client| {
        honestly(subject, client, &honest);
        let Ok(pid) = i32::try_from(client.pid()) else { return };
        let launcher = process::launcher(pid);
        launcher.signal(Signal::SIGKILL);
        if !process::until(Duration::from_secs(5), || !launcher.is_alive()) {
            client.fault("the launcher cannot be killed".to_owned());
        }
        let Some((tool, arguments)) = questions::honest(&client.tools, &honest, subject.asked.as_deref()) else {
            return;
        };
        // the call that was on its way may have been lost with its worker; the next one is refused
        client.call(&tool, &arguments);
        if let Some(answer) = client.call(&tool, &arguments) {
            let text = answer.to_string();
            let failed = answer.get("error").is_some() || answer["result"]["isError"] == true;
            // where every call is refused for a missing layer, that is as good a word
            let named = match subject.honest {
                Honest::Refuses(layer) => text.contains(layer) || text.contains("launcher"),
                _ => text.contains("launcher"),
            };
            if !failed && subject.honest == Honest::Answers || !named && failed {
                client.fault(format!("without a launcher: {}", cut(&text)));
            }
        }
    });
    Verdict::of(faults, "refused by name".to_owned())
}

/// P10: few descriptors, little memory, small files, small stacks, little time.
pub fn limits(subject: &Subject) -> Verdict {
    let scene = Scene::empty();
    let honest = scene.honest("repo").path().to_owned();
    let mut faults = Vec::new();
    let limits = ["ulimit -n 16", "ulimit -n 4", "ulimit -v 300000", "ulimit -f 1", "ulimit -s 512", "ulimit -c 0"];
    for limit in limits {
        let mut limited = subject.clone();
        limited.limit = Some(limit.to_owned());
        faults.extend(ends_well(&limited, &scene, &honest).into_iter().map(|fault| format!("{limit}: {fault}")));
    }
    faults.extend(fresh(subject, &scene.place, &honest));
    Verdict::of(faults, format!("{} limits", limits.len()))
}

/// P13: what is to be served is everything, a home, a link, a file, nothing, or goes away.
pub fn roots(subject: &Subject) -> Verdict {
    let mut scene = Scene::empty();
    let victim = scene.victim();
    let honest = scene.honest("repo").path().to_owned();
    let inside = scene.inside();
    symlink(&victim, inside.join("link")).expect("ours");
    fs::write(inside.join("file"), "text\n").expect("ours");
    let home = scene.place.home();
    let mut faults = Vec::new();
    let cases = ["/".into(), home, inside.join("link/.git"), inside.join("file"), inside.join("missing"), "".into()];
    for path in &cases {
        let found = ends_well(subject, &scene, path);
        faults.extend(found.into_iter().map(|fault| format!("{}: {fault}", path.display())));
    }
    let gone = Repo::honest(&scene.place, "inside/gone").path().to_owned();
    let found = with(subject, &scene, &gone, |client| {
        let Some((tool, arguments)) = questions::honest(&client.tools, &gone, subject.asked.as_deref()) else { return };
        client.call(&tool, &arguments);
        fs::remove_dir_all(&gone).expect("ours");
        client.call(&tool, &arguments);
        // and somebody else's takes its place
        symlink(&victim, &gone).expect("ours");
        client.call(&tool, &arguments);
        if client.until_ping().is_none() {
            client.fault("it does not answer a ping after that".to_owned());
        }
    });
    faults.extend(found.into_iter().map(|fault| format!("a root that goes away: {fault}")));
    faults.extend(fresh(subject, &scene.place, &honest));
    Verdict::of(faults, format!("{} roots", cases.len() + 1))
}
