//! How a number is written: integers as they are, the rest as the shortest decimal that reads back the same.
//! Trust: numbers of any origin; all of them are finite, since JSON has no others.

use serde_json::Number;
use std::fmt::Write as _;

/// Decimal exponents (of the first digit, counted from the point) within which a number is written without `e`.
const PLAIN: std::ops::RangeInclusive<i32> = -4..=16;

/// Appends the canonical text of `number`.
pub(super) fn write(number: &Number, out: &mut String) {
    if let Some(integer) = number.as_u64() {
        let _ = write!(out, "{integer}");
    } else if let Some(integer) = number.as_i64() {
        let _ = write!(out, "{integer}");
    } else {
        float(number.as_f64().unwrap_or_default(), out);
    }
}

/// Appends a finite `f64`: shortest round-trip digits, plain notation from 1e-5 up to 1e16, `.0` where integral.
fn float(number: f64, out: &mut String) {
    if number == 0.0 {
        out.push_str(if number.is_sign_negative() { "-0.0" } else { "0.0" });
        return;
    }
    // the standard library finds how many digits are needed, but rounds a tie between two candidates up; asked for that
    // many digits it rounds to even, as the contract's writers do
    let shortest = format!("{number:e}");
    let precision = shortest.find('e').unwrap_or(1).saturating_sub(2 + usize::from(number < 0.0));
    let nearest = format!("{number:.precision$e}");
    let scientific = if nearest.parse() == Ok(number) { nearest } else { shortest };
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    out.push_str(sign);
    let digits = mantissa.replace('.', "");
    let point = exponent + 1;
    if !PLAIN.contains(&point) {
        out.push_str(mantissa);
        let plus = if exponent > 0 { "+" } else { "" };
        let _ = write!(out, "e{plus}{exponent}");
    } else if point <= 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', point.unsigned_abs() as usize));
        out.push_str(&digits);
    } else if let Some((whole, rest)) = digits.split_at_checked(point.unsigned_abs() as usize) {
        out.push_str(whole);
        out.push('.');
        out.push_str(if rest.is_empty() { "0" } else { rest });
    } else {
        out.push_str(&digits);
        out.extend(std::iter::repeat_n('0', point.unsigned_abs() as usize - digits.len()));
        out.push_str(".0");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What other writers of the contract (all use `serde_json`) put on disk; ours must be the same to the byte.
    #[test]
    fn the_form_is_the_one_that_other_writers_use() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut checked = 0;
        let mut check = |number: f64| {
            if let Some(number) = Number::from_f64(number) {
                let mut own = String::new();
                write(&number, &mut own);
                assert_eq!(own, number.to_string());
                checked += 1;
            }
        };
        for exponent in -330..310 {
            for digits in ["1", "1.5", "9.999999999999999", "1.234567", "-7.25"] {
                check(format!("{digits}e{exponent}").parse().expect("a number"));
            }
        }
        for _ in 0..20_000 {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            check(f64::from_bits(seed));
            check((seed >> 40) as f64 / 1000.0);
        }
        assert!(checked > 30_000, "{checked}");
    }
}
