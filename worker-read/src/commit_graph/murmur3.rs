//! The 32-bit Murmur3 hash in the two forms that changed-path filters were written with.
//! Trust: any bytes; pure arithmetic.

/// How the bytes of a path enter the hash (`commitGraph.changedPathsVersion`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bytes {
    /// Version 1: as signed characters, which only matters from 0x80 on.
    Signed,
    /// Version 2: as they are.
    Unsigned,
}

/// Murmur3 of `data`.
pub(crate) fn murmur3(seed: u32, data: &[u8], bytes: Bytes) -> u32 {
    let widened = |byte: u8| match bytes {
        Bytes::Signed => i32::from(byte.cast_signed()).cast_unsigned(),
        Bytes::Unsigned => u32::from(byte),
    };
    let mixed = |word: u32| word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let words = data.chunks_exact(4);
    let rest = words.remainder();
    let mut hash = seed;
    for word in words {
        let word = word.iter().rev().fold(0u32, |word, &byte| (word << 8) | widened(byte));
        hash = (hash ^ mixed(word)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    if !rest.is_empty() {
        // Git folds the tail with exclusive-or where it folds whole words with or
        let tail = rest.iter().enumerate().fold(0u32, |word, (at, &byte)| word ^ (widened(byte) << (8 * at)));
        hash ^= mixed(tail);
    }
    hash ^= u32::try_from(data.len()).unwrap_or(u32::MAX);
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x85eb_ca6b);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of Git's own test of the hash (`t0095-bloom.sh`).
    #[test]
    fn the_hash_is_gits() {
        assert_eq!(murmur3(0, b"", Bytes::Unsigned), 0);
        assert_eq!(murmur3(0, b"Hello world!", Bytes::Unsigned), 0x627b_0c2c);
        assert_eq!(murmur3(0, b"The quick brown fox jumps over the lazy dog", Bytes::Unsigned), 0x2e4f_f723);
        let high = b"\x99\xaa\xbb\xcc\xdd\xee\xff";
        assert_eq!(murmur3(0, high, Bytes::Unsigned), 0xa183_ccfd);
        assert_ne!(murmur3(0, high, Bytes::Signed), murmur3(0, high, Bytes::Unsigned));
        assert_eq!(murmur3(7, b"plain/path", Bytes::Signed), murmur3(7, b"plain/path", Bytes::Unsigned));
    }
}
