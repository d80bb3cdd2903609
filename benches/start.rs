//! Start: exec → `initialize` answer, and exec → first result of `repo.brief` on a repository not seen before.
//! Trust: our own fixture. `BULKHEAD_REFERENCE="program args"` adds the reference.

mod support;

use support::{Figures, Server, ours, say};

const ROUNDS: usize = 60;

fn main() {
    let (_keep, root) = support::fixture();
    let repository = root.join("rich");
    let mut rows = vec![("jailed", ours(&[], &root)), ("--empty-root", ours(&["--empty-root"], &root))];
    rows.push(("--isolation off", ours(&["--isolation", "off"], &root)));
    if let Some(command) = support::reference() {
        rows.push(("reference", command));
    }
    let mut figures: Vec<(Figures, Figures)> = rows.iter().map(|_| Default::default()).collect();
    for round in 0..ROUNDS + 3 {
        for ((_, command), (opening, first)) in rows.iter().zip(&mut figures) {
            // the first rounds warm the page cache
            let (mut scrap_a, mut scrap_b) = (Figures::default(), Figures::default());
            let (opening, first) = if round < 3 { (&mut scrap_a, &mut scrap_b) } else { (opening, first) };
            opening.take(|| Server::start(command, &root).initialize());
            first.take(|| {
                let mut server = Server::start(command, &root);
                server.initialize();
                server.call("repo.brief", &repository)
            });
        }
    }
    for ((name, _), (opening, first)) in rows.iter().zip(&figures) {
        say(name);
        say(&format!("  exec → initialize   {}", opening.line()));
        say(&format!("  exec → first brief  {}", first.line()));
    }
}
