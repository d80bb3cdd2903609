//! The fuzz target's judgement over the pairs of all languages and over mutations of them, on the stable toolchain.
//! Trust: the corpus is this crate's; `BULKHEAD_SEED=N` repeats a run, `BULKHEAD_SLOW=1` makes it longer.

#[path = "trials/sources.rs"]
mod sources;

use bulkhead_worker_syntax::engine::{compare::Engine, language::GRAMMARS};
use std::path::Path;

fn seeds() -> Vec<Vec<u8>> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut seeds = Vec::new();
    for (number, grammar) in (0u8..).zip(GRAMMARS) {
        let files = std::fs::read_dir(golden.join(grammar.name)).expect("every language has a pair").flatten();
        let mut sides: Vec<_> = files.map(|file| file.path()).collect();
        sides.retain(|path| path.extension().is_some_and(|ending| ending != "txt"));
        sides.sort();
        let texts: Vec<Vec<u8>> = sides.iter().map(|path| std::fs::read(path).expect("readable")).collect();
        seeds.push([&[number][..], &texts.join(&0)].concat());
    }
    assert_eq!(seeds.len(), GRAMMARS.len());
    seeds
}

#[test]
fn mutated_sources_are_compared_or_fall_back_and_never_worse() {
    let seed = std::env::var("BULKHEAD_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1u64);
    let rounds = if std::env::var_os("BULKHEAD_SLOW").is_some_and(|value| value == "1") { 5_000 } else { 60 };
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ (seed << 17);
    let mut next = move |end: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).expect("31 bits") % end.max(1)
    };
    let mut engine = Engine::default();
    for seed in seeds() {
        sources::judge(&mut engine, &seed);
        for _ in 0..rounds {
            let mut bytes = seed.clone();
            for _ in 0..1 + next(6) {
                if bytes.len() < 2 {
                    break;
                }
                let at = 1 + next(bytes.len() - 1);
                match next(5) {
                    0 => bytes[at] = u8::try_from(next(256)).expect("a byte"),
                    1 => bytes.truncate(at.max(2)),
                    2 => {
                        let piece = bytes[at..(at + 1 + next(40)).min(bytes.len())].repeat(1 + next(30));
                        bytes.splice(at..at, piece);
                    }
                    3 => bytes.insert(at, b"(){}[]\"'`\\\n\t#/*"[next(15)]),
                    _ => _ = bytes.drain(at..(at + next(20)).min(bytes.len())),
                }
            }
            sources::judge(&mut engine, &bytes);
        }
    }
}
