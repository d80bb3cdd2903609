//! Times as other programs write them, in milliseconds since 1970.
//! Trust: any text may stand there; what is no time is `None`.

/// Numbers from here on are milliseconds, smaller ones seconds (contract `agents.md`).
const MILLISECONDS_FROM: u64 = 100_000_000_000;

/// Of a number that counts seconds or milliseconds.
#[must_use]
pub fn number(number: i64) -> Option<i64> {
    if number.unsigned_abs() >= MILLISECONDS_FROM { Some(number) } else { number.checked_mul(1_000) }
}

/// Of RFC 3339, or of `YYYY-MM-DD HH:MM:SS` with or without a fraction, which is UTC.
#[must_use]
pub fn text(text: &str) -> Option<i64> {
    let bytes = text.trim().as_bytes();
    let digits = |from: usize, count: usize| -> Option<i64> {
        let part = bytes.get(from..from + count)?;
        part.iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
    };
    let is = |at: usize, byte: u8| bytes.get(at) == Some(&byte);
    if !(is(4, b'-') && is(7, b'-') && is(13, b':') && is(16, b':')) {
        return None;
    }
    if !matches!(bytes.get(10), Some(b'T' | b't' | b' ')) {
        return None;
    }
    let (year, month, day) = (digits(0, 4)?, digits(5, 2)?, digits(8, 2)?);
    let (hour, minute, second) = (digits(11, 2)?, digits(14, 2)?, digits(17, 2)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut at = 19;
    let mut millis = 0;
    if is(at, b'.') {
        let fraction: Vec<i64> =
            bytes[at + 1..].iter().map_while(|byte| byte.is_ascii_digit().then(|| i64::from(byte - b'0'))).collect();
        if fraction.is_empty() {
            return None;
        }
        millis = (0..3).fold(0, |sum, place| sum * 10 + fraction.get(place).copied().unwrap_or(0));
        at += 1 + fraction.len();
    }
    let offset = match bytes.get(at) {
        None => 0,
        Some(b'Z' | b'z') if bytes.len() == at + 1 => 0,
        Some(sign @ (b'+' | b'-')) if is(at + 3, b':') && bytes.len() == at + 6 => {
            let minutes = digits(at + 1, 2)? * 60 + digits(at + 4, 2)?;
            if *sign == b'+' { minutes } else { -minutes }
        }
        Some(_) => return None,
    };
    let days = days_from_civil(year, month, day);
    Some(((days * 24 + hour) * 60 + minute - offset) * 60_000 + second * 1_000 + millis)
}

/// Days since 1970 of a date of the Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_gives_the_same_time() {
        let at = 1_796_027_909_946;
        for form in [
            "2026-11-30T08:38:29.946Z",
            "2026-11-30 08:38:29.946",
            "2026-11-30T09:38:29.946+01:00",
            "2026-11-30t08:38:29.946999z",
            "2026-11-30T03:08:29.946-05:30",
        ] {
            assert_eq!(text(form), Some(at), "{form}");
        }
        assert_eq!(text("2026-11-30 08:38:29"), Some(at - 946));
        assert_eq!(text("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(text("2000-02-29T00:00:00Z"), Some(951_782_400_000));
        assert_eq!(number(at), Some(at));
        assert_eq!(number(at / 1_000), Some(at - 946));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for odd in [
            "",
            "yesterday",
            "2026-13-01T00:00:00Z",
            "2026-11-30",
            "2026-11-30T08:38:29.Z",
            "2026-11-30T08:38:29+1",
            "2026-11-30T08:38:29Zx",
            "2026-11-30T24:00:00Z",
            "9999999-11-30T08:38:29Z",
            "２０26-11-30T08:38:29Z",
        ] {
            assert_eq!(text(odd), None, "{odd}");
        }
        assert_eq!(number(i64::MIN), Some(i64::MIN));
    }
}
