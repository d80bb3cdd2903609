//! What must hold of a comparison for any two texts: the fuzz target `sources` and a test share it.
//! Trust: the input is the fuzzer's.

use bulkhead_contract::results::Region;
use bulkhead_ipc::edge::syntax::{Ask, Reply};
use bulkhead_worker_syntax::engine::{self, Engine, language::GRAMMARS};
use std::time::{Duration, Instant};

/// Two texts out of `bytes`, in the language that the first byte chooses: cut at the first NUL, all but their common ends
/// one region. Whatever they are, the answer fits the question.
pub fn judge(parsers: &mut Engine, bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let grammar = &GRAMMARS[usize::from(*choice) % GRAMMARS.len()];
    let (old, new) = match rest.iter().position(|byte| *byte == 0) {
        Some(at) => (&rest[..at], &rest[at + 1..]),
        None => (rest, &[][..]),
    };
    let lines =
        |text: &[u8]| -> Vec<Vec<u8>> { text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect() };
    let (a, b) = (lines(old), lines(new));
    let begin = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let end = a[begin..].iter().rev().zip(b[begin..].iter().rev()).take_while(|(a, b)| a == b).count();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let region = Region {
        old_start: number(begin),
        old_len: number(a.len() - begin - end),
        new_start: number(begin),
        new_len: number(b.len() - begin - end),
    };
    let regions: Vec<Region> = [region].into_iter().filter(|region| region.old_len + region.new_len > 0).collect();
    let path = format!("x.{}", grammar.endings[0]).into_bytes();
    let ask = Ask { path, old: old.to_vec(), new: new.to_vec(), regions, skip: 0, lines: 1_500, bytes: 40_000 };
    let reply = engine::answer(parsers, &ask, Instant::now() + Duration::from_millis(500));
    match reply.expect("the regions are those of the texts") {
        Reply::Compared(compared) => assert!(compared.fits(&ask), "{compared:?}"),
        Reply::Fallback(_) => {}
    }
    // regions that lie are found out, whatever the texts are
    let lie = Ask { regions: vec![Region { old_len: region.old_len + 1, ..region }], ..ask };
    assert_eq!(engine::answer(parsers, &lie, Instant::now() + Duration::from_millis(500)), None);
}
