//! What Git keeps to be fast, and what is missing: commit-graph, multi-pack-index and pack indexes of wrong offsets.
//! Trust: hostile by construction.

use super::Scene;
use crate::support::objects as raw;
use std::fs;

fn chunks(head: &[u8], chunks: &[(&[u8; 4], u64)]) -> Vec<u8> {
    let mut bytes = head.to_vec();
    for (name, offset) in chunks.iter().chain([&(b"\0\0\0\0", 0)]) {
        bytes.extend_from_slice(&name[..]);
        bytes.extend_from_slice(&offset.to_be_bytes());
    }
    let trailer = raw::sha1(&bytes);
    bytes.extend_from_slice(&trailer);
    bytes
}

/// Each of the files alone, and all of them together.
pub fn wrong_offsets(scene: &mut Scene) {
    let graph = chunks(b"CGPH\x01\x01\x03\x00", &[(b"OIDF", 1 << 40), (b"OIDL", 8), (b"CDAT", i64::MAX as u64)]);
    let midx = chunks(b"MIDX\x01\x01\x02\x00\xff\xff\xff\xff", &[(b"PNAM", 12), (b"OIDF", 1 << 50)]);
    let mut falling = b"\xfftOc\0\0\0\x02".to_vec();
    falling.extend((0..256u32).flat_map(|n| (u32::MAX - n).to_be_bytes()));
    let trailer = raw::sha1(&falling);
    falling.extend_from_slice(&trailer);
    let pack = b"PACK\0\0\0\x02\0\0\0\x05".to_vec();
    let name = "e".repeat(40);
    let files = [
        ("graph", "objects/info/commit-graph".to_owned(), graph),
        ("midx", "objects/pack/multi-pack-index".to_owned(), midx),
        ("falling", format!("objects/pack/pack-{name}.idx"), falling),
        ("pack", format!("objects/pack/pack-{name}.pack"), pack),
    ];
    for which in ["graph", "midx", "falling", "all"] {
        let repo = scene.honest(which);
        for (file, at, bytes) in &files {
            if which == "all" || which == *file || (which == "falling" && *file == "pack") {
                let path = repo.git_dir().join(at);
                fs::create_dir_all(path.parent().expect("it has one")).expect("ours");
                fs::write(path, bytes).expect("ours");
            }
        }
        scene.aim(which);
    }
}

/// Commits, trees and contents that are gone, where others still name them.
pub fn missing_objects(scene: &mut Scene) {
    for (name, revision) in [("commit", "HEAD~1"), ("tree", "HEAD^{tree}"), ("content", "HEAD:a.txt"), ("tip", "HEAD")]
    {
        let repo = scene.honest(name);
        repo.append("a.txt", "changed\n");
        if name == "commit" {
            repo.git(&["commit-graph", "write", "--reachable"]);
        }
        let id = repo.git(&["rev-parse", revision]);
        fs::remove_file(repo.git_dir().join("objects").join(&id[..2]).join(&id[2..])).expect("it is loose");
        scene.aim(name);
    }
}
