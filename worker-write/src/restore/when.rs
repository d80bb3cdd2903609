//! Ids of restore points: the time in UTC, in an order that is also that of the names.
//! Trust: the system's clock and random numbers.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::{SystemTime, UNIX_EPOCH},
};

/// Seconds since 1970, and an id of them: `20261130T231500Z-123456-9f3a` (microseconds, then something random).
pub(super) fn now() -> (i64, String) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    let random = RandomState::new().build_hasher().finish() & 0xffff;
    (seconds, format!("{}-{:06}-{random:04x}", compact(seconds), since.subsec_micros()))
}

/// `YYYYMMDDTHHMMSSZ` of seconds since 1970.
fn compact(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil_from_days(days);
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", second / 3_600, second / 60 % 60, second % 60)
}

/// Date of the Gregorian calendar, from days since 1970; years begin in March inside, so that leap days come last.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "19700101T000000Z"),
            (951_782_400, "20000229T000000Z"),
            (1_796_080_500, "20261130T231500Z"),
            (4_107_542_399, "21000228T235959Z"),
        ] {
            assert_eq!(compact(seconds), text);
        }
    }

    #[test]
    fn later_ids_come_later() {
        let ids: Vec<_> = (0..50).map(|_| now().1).collect();
        assert!(ids.iter().all(|id| id.len() == 28), "{ids:?}");
        assert!(ids.is_sorted_by(|a, b| a[..23] <= b[..23]), "{ids:?}");
    }
}
