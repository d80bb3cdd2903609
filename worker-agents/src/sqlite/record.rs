//! Rows: the payload of a cell, which may go on in a chain of pages, and the values in it.
//! Trust: hostile bytes; only the values that are asked for are read, and of each only as much as is wanted.

use super::{Fault, pages::Pages};
use std::rc::Rc;

/// Values of one row at most: SQLite's own limit.
const MAX_VALUES: usize = 32_767;
/// Bytes of a row's head.
const MAX_HEAD: usize = 128 * 1024;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// Another number.
    Real(f64),
    /// Text as it stands there.
    Text(Vec<u8>),
    /// Bytes, or a text that is longer than was wanted.
    Other,
}

/// The payload of a row.
#[derive(Debug)]
pub struct Payload {
    page: Rc<[u8]>,
    /// The part in the page itself.
    local: (usize, usize),
    /// First page of the rest.
    overflow: Option<u32>,
    length: usize,
    /// Where each value stands, once that was looked at: type and position.
    values: Option<Vec<(u64, usize)>>,
    /// The last page of the chain that was looked at: which one in order, and its number.
    reached: Option<(usize, u32)>,
}

/// A number of variable length, and where it ends.
fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for place in 0..9 {
        let byte = *bytes.get(at + place)?;
        if place == 8 {
            return Some((value << 8 | u64::from(byte), at + 9));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((value, at + place + 1));
        }
    }
    None
}

/// Bytes of a value by its type.
fn size(kind: u64) -> Option<usize> {
    Some(match kind {
        0 | 8 | 9 => 0,
        1..=4 => usize::try_from(kind).ok()?,
        5 => 6,
        6 | 7 => 8,
        10 | 11 => return None,
        kind => usize::try_from((kind - 12) / 2).ok()?,
    })
}

impl Payload {
    /// The payload and the rowid of a leaf's cell (file format, "B-tree cell format").
    pub fn of_leaf(page: &Rc<[u8]>, at: usize, pages: &Pages<'_>) -> Result<(Self, i64), Fault> {
        let (length, at) = varint(page, at).ok_or(Fault::Damaged)?;
        let (rowid, at) = varint(page, at).ok_or(Fault::Damaged)?;
        let length = usize::try_from(length).ok().filter(|length| *length < 1 << 31).ok_or(Fault::Damaged)?;
        let most = pages.usable - 35;
        let local = if length <= most {
            length
        } else {
            let least = (pages.usable - 12) * 32 / 255 - 23;
            let some = least + (length - least) % (pages.usable - 4);
            if some <= most { some } else { least }
        };
        let end = at.checked_add(local).filter(|end| *end <= page.len()).ok_or(Fault::Damaged)?;
        let overflow = if local < length {
            let next = page.get(end..end + 4).ok_or(Fault::Damaged)?;
            Some(u32::from_be_bytes([next[0], next[1], next[2], next[3]]))
        } else {
            None
        };
        let page = Rc::clone(page);
        let payload = Self { page, local: (at, end), overflow, length, values: None, reached: None };
        Ok((payload, rowid.cast_signed()))
    }

    /// The value at a place; one beyond the last is null, as after `ALTER TABLE`.
    pub fn value(&mut self, place: usize, most: usize, pages: &Pages<'_>) -> Result<Value, Fault> {
        if self.values.is_none() {
            self.values = Some(self.head(pages)?);
        }
        let Some((kind, at)) = self.values.as_ref().and_then(|values| values.get(place).copied()) else {
            return Ok(Value::Null);
        };
        let length = size(kind).ok_or(Fault::Damaged)?;
        let number = |bytes: Vec<u8>| {
            let negative = bytes.first().is_some_and(|byte| *byte >= 0x80);
            bytes.iter().fold(if negative { -1_i64 } else { 0 }, |sum, byte| sum << 8 | i64::from(*byte))
        };
        Ok(match kind {
            0 => Value::Null,
            8 => Value::Integer(0),
            9 => Value::Integer(1),
            1..=6 => Value::Integer(number(self.bytes(at, length, pages)?)),
            7 => Value::Real(f64::from_bits(number(self.bytes(at, length, pages)?).cast_unsigned())),
            kind if kind % 2 == 1 && length <= most => Value::Text(self.bytes(at, length, pages)?),
            _ => Value::Other,
        })
    }

    /// Types and places of all values.
    fn head(&mut self, pages: &Pages<'_>) -> Result<Vec<(u64, usize)>, Fault> {
        let first = self.bytes(0, self.length.min(9), pages)?;
        let (length, begin) = varint(&first, 0).ok_or(Fault::Damaged)?;
        let length = usize::try_from(length).ok().filter(|length| *length <= self.length.min(MAX_HEAD));
        let head = self.bytes(0, length.ok_or(Fault::Damaged)?, pages)?;
        let (mut at, mut place) = (begin, head.len());
        let mut values = Vec::new();
        while at < head.len() {
            let (kind, next) = varint(&head, at).ok_or(Fault::Damaged)?;
            let length = size(kind).ok_or(Fault::Damaged)?;
            values.push((kind, place));
            place = place.checked_add(length).filter(|end| *end <= self.length).ok_or(Fault::Damaged)?;
            at = next;
            if values.len() > MAX_VALUES {
                return Err(Fault::Damaged);
            }
        }
        Ok(values)
    }

    /// Bytes of the payload, wherever they stand.
    fn bytes(&mut self, at: usize, length: usize, pages: &Pages<'_>) -> Result<Vec<u8>, Fault> {
        let end = at.checked_add(length).filter(|end| *end <= self.length).ok_or(Fault::Damaged)?;
        let (from, to) = self.local;
        let here = to - from;
        let mut out = Vec::with_capacity(length.min(1 << 16));
        if at < here {
            out.extend_from_slice(&self.page[from + at..from + end.min(here)]);
        }
        let room = pages.usable - 4;
        while out.len() < length {
            let place = at + out.len() - here;
            let page = self.overflow_page(place / room, pages)?;
            let from = 4 + place % room;
            let part = page.get(from..(from + length - out.len()).min(pages.usable)).ok_or(Fault::Damaged)?;
            if part.is_empty() {
                return Err(Fault::Damaged);
            }
            out.extend_from_slice(part);
        }
        Ok(out)
    }

    /// A page of the chain, in order from 0 on.
    fn overflow_page(&mut self, wanted: usize, pages: &Pages<'_>) -> Result<Rc<[u8]>, Fault> {
        let first = self.overflow.ok_or(Fault::Damaged)?;
        let (mut at, mut number) = self.reached.filter(|(at, _)| *at <= wanted).unwrap_or((0, first));
        let mut page = pages.page(number)?;
        while at < wanted {
            number = page
                .get(..4)
                .map(|next| u32::from_be_bytes([next[0], next[1], next[2], next[3]]))
                .ok_or(Fault::Damaged)?;
            page = pages.page(number)?;
            at += 1;
        }
        self.reached = Some((at, number));
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_variable_length_end_where_they_should() {
        assert_eq!(varint(&[0x7f], 0), Some((127, 1)));
        assert_eq!(varint(&[0x81, 0x00], 0), Some((128, 2)));
        assert_eq!(varint(&[0xff; 9], 0), Some((u64::MAX, 9)));
        assert_eq!(varint(&[0x80; 8], 0), None);
        assert_eq!(varint(&[], 0), None);
    }
}
