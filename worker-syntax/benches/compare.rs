//! How long the engine takes for files of 2 000 and of 7 000 lines, in every language that has functions.
//! Trust: a bench; it prints and never fails on a figure. `cargo bench -p bulkhead-worker-syntax`.

use bulkhead_contract::results::Region;
use bulkhead_worker_syntax::engine::{
    compare::{Engine, Pair, Window},
    language::Grammar,
};
use std::{
    io::Write as _,
    time::{Duration, Instant},
};

/// Texts of which a file is made, with a name that is another in each copy, and a line that changes in some.
const PIECES: &[(&str, &str)] = &[
    (
        "rs",
        "/// Sums what is given.\npub fn name(list: &[u32], start: u32) -> Result<u32, Error> {\n    let mut sum = start;\n    \
         for (index, one) in list.iter().enumerate() {\n        if *one > index as u32 {\n            sum += one * EDIT;\n        \
         }\n    }\n    Ok(sum)\n}\n\n",
    ),
    (
        "py",
        "class name(Base):\n    def run(self, items, start=0):\n        total = start\n        for index, item in \
         enumerate(items):\n            if item > index:\n                total += item * EDIT\n        return {'total': \
         total, 'name': \"name\"}\n\n\n",
    ),
    (
        "ts",
        "export class name extends Base<number> {\n  run(items: number[], start = 0): number {\n    let total = start;\n    \
         for (const [index, item] of items.entries()) {\n      if (item > index) {\n        total += item * EDIT;\n      }\n    \
         }\n    return total;\n  }\n}\n\n",
    ),
    (
        "c",
        "/* Sums what is given. */\nstatic int name(const struct item *list, int n, int start)\n{\n\tint sum = start;\n\n\tfor (int \
         i = 0; i < n; i++) {\n\t\tif (list[i].value > i)\n\t\t\tsum += list[i].value * EDIT;\n\t}\n\treturn sum;\n}\n\n",
    ),
    (
        "cpp",
        "template <typename T>\nclass name : public Base<T> {\npublic:\n    T run(const std::vector<T>& items, T start) const {\n        \
         for (const auto& item : items) {\n            if (item > start) start += item * EDIT;\n        }\n        return \
         start;\n    }\n};\n\n",
    ),
    (
        "go",
        "// name sums what is given.\nfunc name(items []int, start int) (int, error) {\n\tsum := start\n\tfor index, item := range \
         items {\n\t\tif item > index {\n\t\t\tsum += item * EDIT\n\t\t}\n\t}\n\treturn sum, nil\n}\n\n",
    ),
];

/// A file of about `lines` lines; every tenth piece differs between its two versions.
fn pair(piece: &str, lines: usize) -> (String, String, Vec<Region>) {
    let (mut old, mut new, mut regions) = (String::new(), String::new(), Vec::new());
    let length = piece.lines().count();
    for copy in 0..lines / length {
        let named = piece.replace("name", &format!("name_{copy}"));
        let edited = copy % 10 == 0;
        old += &named.replace("EDIT", "factor");
        new += &named.replace("EDIT", if edited { "(other + 1)" } else { "factor" });
        let at = piece.lines().position(|line| line.contains("EDIT")).unwrap_or_default() + copy * length;
        if edited {
            let at = u32::try_from(at).unwrap_or_default();
            regions.push(Region { old_start: at, old_len: 1, new_start: at, new_len: 1 });
        }
    }
    (old, new, regions)
}

fn main() {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "| language | lines | median | worst of 40 |\n|---|---:|---:|---:|");
    for (ending, piece) in PIECES {
        let path = format!("x.{ending}");
        let name = Grammar::of(path.as_bytes()).map_or("none", |grammar| grammar.name);
        for lines in [2_000, 7_000] {
            let (old, new, regions) = pair(piece, lines);
            let pair = Pair { path: path.as_bytes(), old: old.as_bytes(), new: new.as_bytes(), regions: &regions };
            let window = Window { skip: 0, lines: 1_500, bytes: 1 << 20 };
            let mut engine = Engine::default();
            let mut times: Vec<Duration> = (0..43)
                .map(|_| {
                    let start = Instant::now();
                    let found = engine.compare(pair, window, start + Duration::from_secs(60));
                    assert!(found.is_ok(), "{name}: {found:?}");
                    start.elapsed()
                })
                .skip(3)
                .collect();
            times.sort();
            let ms = |time: Duration| time.as_secs_f64() * 1e3;
            let _ = writeln!(out, "| {name} | {lines} | {:.1} ms | {:.1} ms |", ms(times[20]), ms(times[39]));
        }
    }
}
