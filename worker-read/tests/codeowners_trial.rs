//! The fuzz target's judgement over a fixed corpus and over mutations of it, on the stable toolchain.
//! Trust: the corpus is made here.

#[path = "trials/codeowners.rs"]
mod trial;

const SEEDS: &[&str] = &[
    "src/a.rs\n* @a\n*.rs @b # c\n/src/ c@d.org\nsrc/**/x\n",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\na*a*a*a*a*a*b @a\na**a**?a @b\n**/a/**/a/**/b @c\n",
    "docs/x y\ndocs/x\\ y @a\r\n!docs @b\n[a] @c\n\\#d @e\n\u{feff}x\ncaf\u{e9}? @f/g",
    "/\n/\n// @a\n**/ @b\n*/ @c\n\\",
];

#[test]
fn mutated_files_never_break_a_rule() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for seed in SEEDS {
        trial::trial(seed.as_bytes());
        for _ in 0..5_000 {
            let mut bytes = seed.as_bytes().to_vec();
            for _ in 0..=next() % 5 {
                let at = usize::try_from(next()).unwrap_or(0) % bytes.len();
                let other = b"*?/\\ \n#!@a\xff\0[."[(next() % 14) as usize];
                match next() % 3 {
                    0 => bytes[at] = other,
                    1 => bytes.insert(at, other),
                    _ if bytes.len() > 1 => drop(bytes.remove(at)),
                    _ => {}
                }
            }
            trial::trial(&bytes);
        }
    }
}
