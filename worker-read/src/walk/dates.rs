//! Moments as callers write them: ISO 8601, seconds since the epoch, and how long ago.
//! Trust: the text is a caller's; what is not understood is refused, never guessed at.

const DAY: i64 = 86_400;
/// Greatest number in a text; keeps all arithmetic far from its limits.
const MAX_NUMBER: i64 = 100_000_000_000;

/// The second that `text` means, seen from `now`; `None` where it is not understood. A date alone is its first second,
/// and a time without an offset is in UTC.
#[must_use]
pub fn moment(text: &str, now: i64) -> Option<i64> {
    let text = text.trim();
    match text.to_ascii_lowercase().as_str() {
        "now" => return Some(now),
        "today" => return Some(now - now.rem_euclid(DAY)),
        "yesterday" => return Some(now - DAY),
        _ => {}
    }
    let seconds = text.strip_prefix('@').or_else(|| Some(text).filter(|text| text.len() >= 9));
    if let Some(seconds) = seconds.and_then(number) {
        return Some(seconds);
    }
    ago(text, now).or_else(|| iso(text))
}

/// `2 weeks ago`, `2.weeks`, `a month ago`.
fn ago(text: &str, now: i64) -> Option<i64> {
    let mut words = text.split([' ', '.', '_']).filter(|word| !word.is_empty());
    let count = match words.next()? {
        "a" | "an" | "one" => 1,
        count => number(count)?,
    };
    let unit = words.next()?.to_ascii_lowercase();
    if !matches!((words.next(), words.next()), (None | Some("ago"), None)) || count > 100_000 {
        return None;
    }
    Some(match unit.strip_suffix('s').unwrap_or(&unit) {
        "second" | "sec" => now - count,
        "minute" | "min" => now - count * 60,
        "hour" => now - count * 3_600,
        "day" => now - count * DAY,
        "week" => now - count * 7 * DAY,
        "month" => months_before(now, count),
        "year" => months_before(now, count * 12),
        _ => return None,
    })
}

/// The same day and time so many months earlier; a day that the month lacks runs over into the next, as in Git.
fn months_before(now: i64, months: i64) -> i64 {
    let (year, month, day) = civil(now.div_euclid(DAY));
    let all = year * 12 + (month - 1) - months;
    days(all.div_euclid(12), all.rem_euclid(12) + 1, day) * DAY + now.rem_euclid(DAY)
}

/// `2026-01-31`, and after `T` or a space a time with or without seconds and offset.
fn iso(text: &str) -> Option<i64> {
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], text[at + 1..].trim()),
        None => (text, "00:00"),
    };
    let mut parts = date.split(['-', '/']);
    let mut part =
        |least: usize, most: usize| parts.next().filter(|part| (least..=most).contains(&part.len())).and_then(number);
    let (year, month, day) = (part(4, 4)?, part(1, 2)?, part(1, 2)?);
    let fits = (1..=12).contains(&month) && (1..=31).contains(&day) && parts.next().is_none();
    let at = days(year, month, day);
    if !fits || civil(at) != (year, month, day) {
        return None;
    }
    Some(at * DAY + clock(time)?)
}

/// Seconds into the day of `14:05`, `14:05:30.5`, with `Z` or an offset after it.
fn clock(text: &str) -> Option<i64> {
    let zone = text.find(['Z', 'z', '+', '-']).unwrap_or(text.len());
    let (time, zone) = (text[..zone].trim(), &text[zone..]);
    let mut parts = time.split(':');
    let mut part = |most: i64| parts.next().and_then(number).filter(|part| *part <= most);
    let (hour, minute) = (part(23)?, part(59)?);
    let second = match parts.next() {
        None => 0,
        Some(second) => {
            let (whole, fraction) = second.split_once('.').unwrap_or((second, "0"));
            number(fraction)?;
            number(whole).filter(|second| *second <= 60)?
        }
    };
    if parts.next().is_some() {
        return None;
    }
    let offset = match zone.as_bytes() {
        [] | [b'Z' | b'z'] => 0,
        [sign, ..] => {
            let digits: String = zone[1..].chars().filter(|c| *c != ':').collect();
            let whole = number(&digits).filter(|_| digits.len() == 4 || digits.len() == 2)?;
            let (hours, minutes) = if digits.len() == 4 { (whole / 100, whole % 100) } else { (whole, 0) };
            if hours > 14 || minutes > 59 {
                return None;
            }
            (hours * 3_600 + minutes * 60) * if *sign == b'-' { -1 } else { 1 }
        }
    };
    Some(hour * 3_600 + minute * 60 + second - offset)
}

fn number(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_number && *number <= MAX_NUMBER)
}

/// Days since the epoch of a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // years begin in March, so that a leap day is the last one
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a day since the epoch.
pub(crate) fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2023-11-14T22:13:20Z.
    const NOW: i64 = 1_700_000_000;

    #[test]
    fn what_people_write_is_understood() {
        for (text, expected) in [
            ("2023-11-14T22:13:20Z", NOW),
            ("2023-11-14 23:13:20 +0100", NOW),
            ("2023-11-14T17:13:20.25-05:00", NOW),
            ("2023-11-14", NOW - 80_000),
            ("2023/11/14 00:00", NOW - 80_000),
            ("1700000000", NOW),
            ("@17", 17),
            ("now", NOW),
            ("yesterday", NOW - DAY),
            ("2 weeks ago", NOW - 14 * DAY),
            ("90.days", NOW - 90 * DAY),
            ("an hour ago", NOW - 3_600),
            ("1 month ago", NOW - 31 * DAY),
            ("1 year ago", NOW - 365 * DAY),
            ("2024-02-29", 1_709_164_800),
            ("0001-01-01", -62_135_596_800),
        ] {
            assert_eq!(moment(text, NOW), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in [
            "",
            "soon",
            "2023",
            "2023-02-29",
            "2023-13-01",
            "2023-1",
            "12:00",
            "2023-11-14T25:00",
            "2 weeks later",
            "2 weeks ago now",
            "-1 day",
            "--format=evil",
            "99999999999999999999",
            "2023-11-14T10:00+99:00",
            "1.5.2",
        ] {
            assert_eq!(moment(text, NOW), None, "{text}");
        }
    }

    #[test]
    fn days_and_dates_are_each_others_inverse() {
        for day in (-800_000..800_000).step_by(13) {
            let (year, month, date) = civil(day);
            assert_eq!(days(year, month, date), day);
        }
    }
}
