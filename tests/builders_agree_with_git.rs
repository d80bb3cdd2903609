//! What the tests write by hand, git reads: a builder that is wrong would make hostile repositories harmless.
//! Trust: test code, judged by the real git.

mod support;

use support::{
    Place, Repo, fixtures, index,
    objects::{self, EMPTY_BLOB},
    pack::{self, Pack},
    snapshot::Snapshot,
    unmet,
};

#[test]
fn loose_objects_and_refs() {
    let place = Place::new();
    let repo = Repo::init(&place, "repo");
    let blob = objects::put(&repo.git_dir(), "blob", b"hello\n");
    let tree = objects::tree(&[("100644", b"a", &blob), ("100755", b"b", &blob)]);
    let tree = objects::put(&repo.git_dir(), "tree", &tree);
    let commit = objects::set_main(&repo.git_dir(), &tree);
    assert_eq!(repo.git(&["rev-parse", "main"]), commit);
    assert_eq!(repo.git(&["show", "main:b"]), "hello");
    repo.git(&["fsck", "--strict"]);
}

#[test]
fn packs_and_their_deltas() {
    let place = Place::new();
    let repo = Repo::init(&place, "repo");
    let mut pack = Pack::new();
    let base = vec![b'x'; 70_000];
    let (base_id, base_at) = pack.add("blob", &base);
    let thrice = base.repeat(3);
    let by_offset = objects::id_of("blob", &thrice);
    let base_at = isize::try_from(base_at).expect("small");
    pack.offset_delta(&by_offset, base_at, &pack::copies(base.len(), 3));
    let by_name = objects::id_of("blob", &base.repeat(2));
    pack.named_delta(&by_name, &base_id, &pack::copies(base.len(), 2));
    pack.add("tree", &objects::tree(&[("100644", b"big", &by_offset)]));
    pack.write(&repo.git_dir());
    let size = |id: &str| repo.git(&["cat-file", "-s", id]);
    assert_eq!(
        (size(&base_id).as_str(), size(&by_offset).as_str(), size(&by_name).as_str()),
        ("70000", "210000", "140000")
    );
    repo.git(&["fsck", "--full"]);
    let packs: Vec<_> =
        std::fs::read_dir(repo.git_dir().join("objects/pack")).expect("just written").flatten().collect();
    let index = packs.iter().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "idx"));
    repo.git(&["verify-pack".as_ref(), index.expect("just written").as_os_str()]);
}

#[test]
fn index_files() {
    let place = Place::new();
    let repo = Repo::init(&place, "repo");
    objects::put(&repo.git_dir(), "blob", b"");
    index::Index::default().entry(b"a").entry(b"dir/b").extension(b"evil", 4, b"zzzz").write(&repo.git_dir());
    // an extension that begins with a lower-case letter must be understood, so git refuses this one
    assert!(!repo.try_git(&["ls-files"]).status.success());
    index::Index::default().entry(b"a").entry(b"dir/b").extension(b"EVIL", 4, b"zzzz").write(&repo.git_dir());
    assert_eq!(repo.git(&["ls-files", "--stage"]), format!("100644 {EMPTY_BLOB} 0\ta\n100644 {EMPTY_BLOB} 0\tdir/b"));
}

#[test]
fn the_recorded_repositories_are_the_recorded_ones() {
    let fixture = fixtures::build(fixtures::RECORDED);
    for (name, revision, id) in [
        ("rich", "v1.0", "86366ca"),
        ("rich", "HEAD~7", "7b1c160"),
        ("sub", "HEAD", "88ea5aa"),
        ("conflict", "HEAD", "3419b32"),
        ("rebase", "HEAD", "67ea933"),
        ("cherry", "HEAD", "feae34c"),
        ("revert", "HEAD", "4b46725"),
        ("bisect", "HEAD", "ae1568b"),
        ("stashconf", "HEAD", "c5a1639"),
        ("detached", "HEAD", "4a9c851"),
        ("clean", "HEAD", "fe04ae7"),
    ] {
        let repo = Repo::open(&fixture.place, fixture.at(name));
        let found = repo.git(&["rev-parse", "--short=7", &format!("{revision}^{{commit}}")]);
        assert_eq!(found, id, "{revision} of {name}");
    }
}

#[test]
fn the_states_are_what_they_are_called() {
    let fixture = fixtures::build(fixtures::STATES);
    let git = |name: &str, arguments: &[&str]| Repo::open(&fixture.place, fixture.at(name)).git(arguments);
    assert_eq!(git("sha256", &["rev-parse", "--show-object-format"]), "sha256");
    assert_eq!(git("shallow", &["rev-parse", "--is-shallow-repository"]), "true");
    assert_eq!(git("bare.git", &["rev-parse", "--is-bare-repository"]), "true");
    assert_eq!(git("partial", &["config", "remote.origin.promisor"]), "true");
    assert_eq!(git("sparse", &["config", "index.sparse"]), "true");
    assert!(git("sparse", &["ls-files", "--sparse"]).lines().any(|line| line == "unwanted/"));
    assert!(fixture.at("shared/.git/objects/info/alternates").exists());
    assert!(fixture.at("packs/.git/objects/pack/multi-pack-index").exists());
    let shared = std::fs::read_dir(fixture.at("split-index/.git")).expect("just built").flatten();
    assert!(shared.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("sharedindex.")));
    assert_eq!(std::fs::read(fixture.at("index-v4/.git/index")).expect("just built")[7], 4);
    let conflicts = git("conflicts", &["status", "--porcelain=v1"]);
    for pair in ["UU", "AA", "DU", "UD", "AU", "UA", "DD"] {
        assert!(conflicts.lines().any(|line| line.starts_with(pair)), "{pair} is among: {conflicts}");
    }
    if !fixture.at("reftable").is_dir() {
        unmet::unmet("a git that can make reftables");
    }
}

#[test]
fn a_snapshot_sees_every_change() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let before = Snapshot::of(repo.path());
    assert!(before.differences(&Snapshot::of(repo.path())).is_empty());
    // a refreshed index has the same content and another inode
    let index = std::fs::read(repo.git_dir().join("index")).expect("it is there");
    std::fs::remove_file(repo.git_dir().join("index")).expect("ours");
    std::fs::write(repo.git_dir().join("index"), index).expect("ours");
    assert!(!before.differences(&Snapshot::of(repo.path())).is_empty());
    assert!(before.len() > 20);
}
