//! Memory of the whole process tree, idle after one call: proportional set size from `/proc/PID/smaps_rollup`.
//! Trust: reads `/proc` of our own children. Needs root: the processes are not dumpable, so their user cannot look.

mod support;

use std::fs;
use support::{Server, ours, say};

fn main() {
    let (_keep, root) = support::fixture();
    for (name, flags) in [("jailed", &[][..]), ("--isolation off", &["--isolation", "off"])] {
        let mut server = Server::start(&ours(flags, &root), &root);
        server.initialize();
        report(name, "before any call", server.pid());
        server.call("repo.brief", &root.join("rich"));
        report(name, "after one repo.brief", server.pid());
    }
}

fn report(name: &str, when: &str, pid: u32) {
    let mut total = 0;
    say(&format!("{name}, {when}"));
    for pid in tree(pid) {
        let Some(kib) = field(pid, "smaps_rollup", "Pss:") else {
            say("  unreadable: run as root");
            return;
        };
        let private = field(pid, "smaps_rollup", "Private_Dirty:").unwrap_or(0);
        let title = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        say(&format!("  {:<18} Pss {kib:>6} KiB   private dirty {private:>6} KiB", title.trim()));
        total += kib;
    }
    say(&format!("  {:<18} Pss {total:>6} KiB", "all together"));
}

/// The process and its descendants.
fn tree(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let all: Vec<u32> = fs::read_dir("/proc")
        .expect("Linux")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        let children = all.iter().filter(|pid| field(**pid, "status", "PPid:") == Some(u64::from(parent)));
        found.extend(children);
        at += 1;
    }
    found
}

fn field(pid: u32, file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line[name.len()..].split_whitespace().next()?.parse().ok()
}
