//! A commit in detail is what `git show --raw --numstat -M` says of it: a merge against its first parent.
//! Trust: see the module above.

use super::{generated, support};
use bulkhead_contract::path::{PathEncoding, bytes_of};
use serde_json::{Value, json};
use std::path::Path;
use support::{Place, Repo, Server, Start, fixtures};

/// Status, old path, new path, likeness, added and removed lines; no lines where the file is binary.
type Change = (String, Option<Vec<u8>>, Vec<u8>, Option<u64>, Option<(u64, u64)>);

/// What git says of the files.
fn changes(repo: &Repo<'_>, commit: &str) -> Vec<Change> {
    let how = ["show", "-m", "--first-parent", "--format=", "--raw", "--numstat", "-M", "-z", "--no-abbrev"];
    let output = repo.try_git(&[&how[..], &["--no-ext-diff", "--no-textconv", commit, "--"]].concat());
    assert!(output.status.success(), "{commit}: {}", String::from_utf8_lossy(&output.stderr));
    let mut parts = output.stdout.split(|&byte| byte == 0).map(<[u8]>::to_vec).filter(|part| part != b"\n").peekable();
    let mut all: Vec<Change> = Vec::new();
    while let Some(head) = parts.next_if(|part| part.starts_with(b":")) {
        let head = String::from_utf8(head).expect("modes and ids");
        let status = head.rsplit(' ').next().expect("a status").to_owned();
        let (letter, likeness) = (status[..1].to_owned(), status[1..].parse().ok());
        let first = parts.next().expect("a path");
        let (old, new) = match letter.as_str() {
            "R" => (Some(first), parts.next().expect("the new path")),
            _ => (None, first),
        };
        all.push((letter, old, new, likeness, None));
    }
    for change in &mut all {
        let row = parts.next().expect("a row of counts");
        let mut words = row.splitn(3, |&byte| byte == b'\t');
        let mut count = || String::from_utf8_lossy(words.next().expect("a count")).parse().ok();
        change.4 = count().zip(count());
        if words.next() == Some(b"") {
            assert_eq!((parts.next(), parts.next()), (change.1.clone(), Some(change.2.clone())));
        }
    }
    all
}

/// What the answer says of them, over all pages.
fn answered(server: &mut Server, repo: &Path, commit: &str) -> (Value, Vec<Change>) {
    let mut arguments = json!({"repoPath": repo, "commit": commit, "limit": 200});
    let mut all = Vec::new();
    loop {
        let outcome = server.call("commit.details", arguments.clone());
        let data = outcome.data();
        assert!(data.get("partial").is_none(), "{commit}: {data}");
        for file in data["files"].as_array().expect("a list") {
            let path = |key: &str| {
                let encoding = file.get(format!("{key}Encoding")).map(|_| PathEncoding::Escaped);
                file[key].as_str().map(|text| bytes_of(text, encoding).expect("an escape that was written"))
            };
            assert!(file.get("omitted").is_none(), "{commit}: {file}");
            let counts = file["added"].as_u64().zip(file["removed"].as_u64());
            assert_eq!(file["binary"] == json!(true), counts.is_none(), "{commit}: {file}");
            let status = file["status"].as_str().expect("a letter").to_owned();
            all.push((status, path("oldPath"), path("path").expect("a path"), file["similarity"].as_u64(), counts));
        }
        match data["nextCursor"].as_str() {
            Some(cursor) => arguments["cursor"] = json!(cursor),
            None => {
                assert_eq!(data["totalFiles"], json!(all.len()), "{commit}");
                return (data["commit"].clone(), all);
            }
        }
    }
}

/// The differences of one commit.
fn fault(server: &mut Server, repo: &Repo<'_>, commit: &str) -> Option<String> {
    let (head, ours) = answered(server, repo.path(), commit);
    let format = "--format=%H%x00%h%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%P%x00%B";
    let output = repo.try_git(&["-c", "i18n.logOutputEncoding=UTF-8", "show", "-s", format, commit, "--"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // white space at the end of a message goes
    let git: Vec<&str> = text.trim_end().split('\0').collect();
    let word = |key: &str| head[key].as_str().map_or_else(|| head[key].to_string(), str::to_owned);
    let names = ["hash", "shortHash", "authorName", "authorEmail", "authorTime"];
    let mut of_ours: Vec<String> = names.iter().map(|key| word(key)).collect();
    of_ours.extend(["committerName", "committerEmail", "committerTime"].iter().map(|key| word(key)));
    let parents = head["parents"].as_array().expect("a list").iter().filter_map(Value::as_str).collect::<Vec<_>>();
    of_ours.extend([parents.join(" "), word("message")]);
    if head.get("messageTruncated").is_none() && of_ours != git {
        return Some(format!("{commit}: {of_ours:?}\n  git {git:?}"));
    }
    let git = changes(repo, commit);
    (ours != git).then(|| {
        let at = ours.iter().zip(&git).position(|(a, b)| a != b).unwrap_or(ours.len().min(git.len()));
        format!("{commit}: {} and {} files\n  ours {:?}\n  git  {:?}", ours.len(), git.len(), ours.get(at), git.get(at))
    })
}

fn compare(server: &mut Server, repo: &Repo<'_>, commits: &[String]) {
    let faults: Vec<String> = commits.iter().filter_map(|commit| fault(server, repo, commit)).collect();
    eprintln!("{} commits in detail, {} differ", commits.len(), faults.len());
    assert!(faults.is_empty(), "{} of {} differ:\n{}", faults.len(), commits.len(), faults.join("\n"));
}

fn listed(repo: &Repo<'_>, arguments: &[&str]) -> Vec<String> {
    repo.git(&[&["rev-list"], arguments].concat()).lines().map(str::to_owned).collect()
}

#[test]
fn commits_in_detail() {
    let place = Place::new();
    let (repo, _) = generated(&place, "r", 8, if support::slow() { 1_000 } else { 120 });
    let mut server = Start::new(&place).root(place.path()).spawn();
    compare(&mut server, &repo, &listed(&repo, &["--all"]));
    let fixture = fixtures::build(fixtures::RECORDED);
    let repo = Repo::open(&fixture.place, fixture.at("rich"));
    let mut server = Start::new(&fixture.place).root(fixture.directory()).spawn();
    compare(&mut server, &repo, &listed(&repo, &["--all", "--no-walk"]));
    compare(&mut server, &repo, &listed(&repo, &["HEAD"]));
}

/// Of a real repository, named by `BULKHEAD_HISTORY_REPOSITORY`, with `BULKHEAD_SLOW=1`: the latest, those of all ages,
/// merges, and the roots.
#[test]
fn commits_of_a_real_repository_in_detail() {
    let Some(path) = std::env::var_os("BULKHEAD_HISTORY_REPOSITORY").filter(|_| support::slow()) else { return };
    let place = Place::new();
    let repo = Repo::open(&place, path.into());
    let mut server = Start::new(&place).root(repo.path()).spawn();
    let all = listed(&repo, &["HEAD"]);
    let mut commits: Vec<String> = all.iter().step_by((all.len() / 400).max(1)).cloned().collect();
    let merges = listed(&repo, &["--merges", "HEAD"]);
    commits.extend(merges.iter().step_by((merges.len() / 100).max(1)).cloned());
    commits.extend(listed(&repo, &["--max-parents=0", "HEAD"]));
    compare(&mut server, &repo, &commits);
}
