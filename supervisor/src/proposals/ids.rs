//! Random ids and the time, as the gateway's wire has them.
//! Trust: the process's own sources.

use bulkhead_contract::limits::MAX_PREVIEW_ID;
use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    time::{SystemTime, UNIX_EPOCH},
};

/// A UUID of version 4. What it is made from is a keyed hash of which the system gave the key: nobody can guess it, and
/// no file or device is opened for it.
#[must_use]
pub fn uuid() -> String {
    thread_local!(static KEY: (RandomState, std::cell::Cell<u64>) = (RandomState::new(), std::cell::Cell::new(0)));
    let half = || {
        KEY.with(|(key, count)| {
            count.set(count.get() + 1);
            let mut hash = key.build_hasher();
            hash.write_u64(count.get());
            hash.finish()
        })
    };
    let high = (half() & !0xf000) | 0x4000;
    let low = (half() & !(0b11 << 62)) | (0b10 << 62);
    let (a, b, c) = (high >> 32, (high >> 16) & 0xffff, high & 0xffff);
    format!("{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff)
}

/// Whether a gateway may use this as the id of a proposal.
#[must_use]
pub fn is_preview_id(text: &str) -> bool {
    (1..=MAX_PREVIEW_ID).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Now, in UTC: RFC 3339 with milliseconds and `Z`.
#[must_use]
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    at(u64::try_from(since.as_millis()).unwrap_or_default())
}

fn at(millis: u64) -> String {
    let (days, rest) = (millis / 86_400_000, millis % 86_400_000);
    // days since 0000-03-01, in cycles of 400 years (Howard Hinnant, chrono-Compatible Low-Level Date Algorithms)
    let days = days + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + cycle * 400 + u64::from(month <= 2);
    let day = day - (153 * shifted + 2) / 5 + 1;
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", rest % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_are_of_version_four_and_differ() {
        let ids: HashSet<String> = (0..1_000).map(|_| uuid()).collect();
        assert_eq!(ids.len(), 1_000);
        for id in ids {
            let parts: Vec<&str> = id.split('-').collect();
            assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{id}");
            assert!(parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']), "{id}");
            assert!(is_preview_id(&id), "{id}");
        }
    }

    #[test]
    fn times_are_the_calendar_s() {
        for (millis, right) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_796_027_082_991, "2026-11-30T08:24:42.991Z"),
            (4_102_444_800_001, "2100-01-01T00:00:00.001Z"),
        ] {
            assert_eq!(at(millis), right);
        }
    }

    #[test]
    fn an_id_of_a_gateway_is_a_word() {
        let long = "a".repeat(MAX_PREVIEW_ID + 1);
        for bad in ["", "a/b", "a b", "é", "a\n", &long] {
            assert!(!is_preview_id(bad), "{bad}");
        }
        assert!(is_preview_id("CANON_1-x") && is_preview_id(&long[1..]));
    }
}
