//! A write in a repository with a large index whose server is killed: nothing goes on, nothing is lost, the way back is there.
//! Trust: test code; moments come from the dice of a fixed seed.

use crate::{
    kills::locks,
    support::{
        dice::Dice,
        direct::Served,
        process::{self, Process},
    },
    sweep::GIVEN,
    world::World,
};
use serde_json::{Value, json};
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

/// The longest that a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// So many more files, in HEAD, the index and the working tree.
fn grown(world: &World, files: usize) {
    let mut import = world.place.command("git");
    import.current_dir(&world.repo).args(["fast-import", "--quiet"]).stdin(Stdio::piped());
    let mut import = import.spawn().expect("git is there");
    {
        let mut to = std::io::BufWriter::new(import.stdin.take().expect("it is a pipe"));
        let mut say = |text: String| to.write_all(text.as_bytes()).expect("git reads");
        say("blob\nmark :1\ndata 2\nx\n\n".to_owned());
        say("commit refs/heads/main\ncommitter L <l@example.invalid> 1700000000 +0000\ndata 4\nmany\nfrom refs/heads/main^0\n"
            .to_owned());
        for number in 0..files {
            say(format!("M 644 :1 many/{:02}/{number}\n", number % 100));
        }
        say("\ndone\n".to_owned());
    }
    assert!(import.wait().expect("it was started").success());
    world.git(&["checkout", "-q", "-f", "main"]);
    world.git(&["reset", "-q", "--hard"]);
}

/// All that a server has started.
fn beneath(server: Process) -> Vec<Process> {
    let mut all = vec![process::launcher(server.0)];
    let mut at = 0;
    while let Some(next) = all.get(at).copied() {
        all.extend(next.children());
        at += 1;
    }
    all
}

/// Objects that were begun and not finished.
fn unfinished(world: &World) -> Vec<PathBuf> {
    let objects = world.repo.join(".git/objects");
    let entries = |dir: &Path| fs::read_dir(dir).expect("it is there").flatten().map(|entry| entry.path());
    let all = entries(&objects).flat_map(|path| if path.is_dir() { entries(&path).collect() } else { vec![path] });
    let begun = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("tmp_") || name.starts_with(".tmp")
    };
    all.filter(begun).collect()
}

#[test]
fn a_commit_of_a_large_index_whose_server_is_killed() {
    let (files, rounds) = if crate::support::slow() { (100_000, 40) } else { (20_000, 6) };
    let world = World::new();
    grown(&world, files);
    let serve = || {
        let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
        served.value("repo_info", json!({}));
        served
    };
    let commit = |text: &str| json!({"paths": ["a.txt", "many"], "message": text.trim()});
    // as long as a whole one takes, the first by which that is known
    world.write("a.txt", "whole\n");
    world.write("many/00/0", "whole\n");
    let mut served = serve();
    let since = std::time::Instant::now();
    served.value("repo_commit", commit("whole"));
    let whole = usize::try_from(since.elapsed().as_millis()).expect("not for ever");
    served.0.finish();
    let mut dice = Dice(20_261_202);
    let (mut working, mut named, mut objects) = (0, 0, 0);
    for round in 0..rounds {
        let text = format!("round {round}\n");
        let (kept, before) = (format!("many/07/{}", 100 * round + 7), world.git(&["rev-parse", "HEAD"]));
        world.write("a.txt", &text);
        world.write(&kept, &text);
        let mut served = serve();
        let supervisor = Process(served.0.pid());
        served.0.ask("repo_commit", commit(&text));
        let moment = Duration::from_millis(dice.below(whole + whole / 4) as u64);
        if round % 2 == 0 {
            std::thread::sleep(moment);
        } else {
            // while Git holds the index, which is the worst of them; where that is not seen, afterwards
            let index = world.repo.join(".git/index.lock");
            let since = std::time::Instant::now();
            while !index.exists() && since.elapsed() < Duration::from_millis(2 * whole as u64) {
                std::hint::spin_loop();
            }
        }
        let all = beneath(supervisor);
        working += usize::from(!process::of_kind(supervisor.0, "write").is_empty());
        supervisor.signal(nix::sys::signal::Signal::SIGKILL);
        served.0.ended();
        let left = || all.iter().filter(|it| it.is_alive()).map(|it| it.arguments()).collect::<Vec<_>>();
        assert!(process::until(PATIENCE, || left().is_empty()), "round {round}: {:?}", left());

        world.git(&["fsck", "--no-dangling", "--no-progress"]);
        for path in ["a.txt", &kept] {
            let there = fs::read_to_string(world.repo.join(path)).expect("it is there");
            assert_eq!(there, text, "round {round}: {path}");
        }
        let mut served = serve();
        let left = locks(&world);
        if !left.is_empty() {
            let failure = served.fails("repo_commit", commit(&text), "locked");
            let reason = failure["reason"].as_str().expect("a reason");
            for lock in left {
                let name = lock.to_str().expect("places have UTF-8 paths");
                assert!(reason.contains(name), "{name}: {reason}");
                fs::remove_file(&lock).expect("it is there");
            }
            named += 1;
        }
        // and so are objects that were begun, by the first write that goes well
        let begun = unfinished(&world);
        let created = served.value("repo_create_branch", json!({"name": format!("after-{round}")}));
        let notes = created["notes"].to_string();
        for path in &begun {
            assert!(notes.contains(&*path.file_name().expect("it has one").to_string_lossy()), "{path:?}: {notes}");
            fs::remove_file(path).expect("it is there");
        }
        objects += begun.len();
        if world.git(&["rev-parse", "HEAD"]) == before {
            served.value("repo_commit", commit(&text));
        }
        assert_eq!(world.git(&["show", "HEAD:a.txt"]), text.trim());
        // the newest point is from before that commit, and leads back to it
        let points = served.value("repo_restore_points", json!({"max": 1}));
        let point: &Value = &points[0];
        served.value("repo_restore", json!({"id": point["id"]}));
        assert_eq!(json!(world.git(&["rev-parse", "HEAD"])), point["head"], "round {round}");
        assert_eq!(fs::read_to_string(world.repo.join("a.txt")).expect("it is there"), text);
        world.git(&["reset", "-q", "--hard"]);
        served.0.finish();
    }
    eprintln!(
        "{files} files, {whole} ms for one commit; {working} of {rounds} servers died while a worker wrote, {named} locks named, \
         {objects} objects begun"
    );
    assert!(working > 0, "no write was met");
}
