//! Hunks lead from the old text to the new one, whatever the texts are; the fuzzer's target `patch` is the same judgement.
//! Trust: any bytes; the applier knows nothing of the writer.

use bulkhead_worker_read::{
    diff::{
        hunks,
        lines::{Algorithm, Lines, Rules},
    },
    userdiff::Driver,
};

/// The first byte chooses how texts are compared, and the first `0xff` after it parts the old from the new one.
///
/// # Panics
/// Where the hunks do not lead from one to the other.
pub fn judge(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    let at = rest.iter().position(|&byte| byte == 0xff).unwrap_or(rest.len());
    let (old, new) = (&rest[..at], rest.get(at + 1..).unwrap_or_default());
    let algorithm = match choice % 3 {
        0 => Algorithm::Myers,
        1 => Algorithm::MyersMinimal,
        _ => Algorithm::Histogram,
    };
    let context = u32::from(choice / 3 % 8);
    let lines = Lines::compare(old, new, Rules { algorithm, ignore_whitespace: false, context });
    let (mut text, mut starts) = (Vec::new(), Vec::new());
    hunks::append(&mut text, &mut starts, &lines, context, &Driver::Default);
    assert!(starts.iter().all(|&start| text[start..].starts_with(b"@@ -")));
    assert_eq!(applied(old, &text), new, "{}", String::from_utf8_lossy(&text));
}

/// `old` with the hunks in `text` applied.
fn applied(old: &[u8], text: &[u8]) -> Vec<u8> {
    let old: Vec<&[u8]> = old.split_inclusive(|&byte| byte == b'\n').collect();
    let (mut new, mut at): (Vec<u8>, usize) = (Vec::new(), 0);
    let mut rest = text.split_inclusive(|&byte| byte == b'\n').peekable();
    while let Some(head) = rest.next() {
        let head = String::from_utf8_lossy(head).into_owned();
        let range = |sign: char| {
            let word = head.split(' ').find_map(|word| word.strip_prefix(sign)).expect("a head has ranges");
            let (start, count) = word.split_once(',').unwrap_or((word, "1"));
            let number = |digits: &str| digits.parse::<usize>().expect("a number");
            let (start, count) = (number(start), number(count));
            (if count == 0 { start } else { start - 1 }, count)
        };
        let ((start, mut removed), (_, mut added)) = (range('-'), range('+'));
        new.extend(old[at..start].concat());
        at = start;
        while removed + added > 0 {
            let line = rest.next().expect("a hunk has all its lines");
            let (sign, body) = line.split_first().expect("a line has a sign");
            let open = rest.next_if(|next| next.starts_with(b"\\")).is_some();
            let body = if open { &body[..body.len() - 1] } else { body };
            if *sign != b'+' {
                assert_eq!(old[at], body, "the line is in the old text");
                (at, removed) = (at + 1, removed - 1);
            }
            if *sign != b'-' {
                new.extend_from_slice(body);
                added -= 1;
            }
        }
    }
    new.extend(old[at..].concat());
    new
}

#[cfg(test)]
mod tests {
    use super::judge;

    #[test]
    fn hunks_lead_from_the_old_text_to_the_new_one() {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..4000 {
            let length = next() % 120;
            let mut bytes = vec![next().to_le_bytes()[0]];
            bytes.extend((0..length).map(|_| b"ab \n\n\r}\xff"[usize::try_from(next() % 8).expect("small")]));
            judge(&bytes);
        }
    }
}
