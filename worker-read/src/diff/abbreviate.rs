//! Ids as short as they are unique, in the length that Git chooses for the repository.
//! Trust: ids are the repository's; an object that is not there is abbreviated all the same.

use gix::{ObjectId, hash::Prefix};

/// Abbreviates ids of one repository.
pub struct Abbreviation {
    git: gix::Repository,
    length: usize,
}

impl Abbreviation {
    /// For `git`, by its `core.abbrev` and the number of its packed objects.
    #[must_use]
    pub fn of(git: &gix::Repository) -> Self {
        let mut git = git.clone();
        // a look at the disk for every id that is unique would cost more than all the rest
        git.objects.refresh_never();
        let whole = git.object_hash().len_in_hex();
        let configured = git.config_snapshot().string("core.abbrev");
        let length = match configured.as_deref().map(|value| value.to_ascii_lowercase()).as_deref() {
            Some(b"no" | b"off" | b"false") => Some(whole),
            Some(digits) => std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()),
            None => None,
        };
        let length = length.unwrap_or_else(|| {
            let packed = git.objects.packed_object_count().unwrap_or(0);
            let bits = usize::try_from(u64::BITS - packed.leading_zeros()).unwrap_or(0);
            bits.div_ceil(2).max(7)
        });
        Self { git, length: length.clamp(4, whole) }
    }

    /// The beginning of `id` that no other object has.
    #[must_use]
    pub fn short(&self, id: &ObjectId) -> String {
        let mut hex = id.to_hex().to_string();
        let mut length = self.length;
        while length < hex.len() && !id.is_null() {
            let Ok(prefix) = Prefix::new(id, length) else { break };
            match self.git.objects.lookup_prefix(prefix, None) {
                Ok(None) | Err(_) => break,
                Ok(Some(Ok(found))) if found == *id => break,
                Ok(Some(_)) => length += 1,
            }
        }
        hex.truncate(length);
        hex
    }
}

impl std::fmt::Debug for Abbreviation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Abbreviation").field("length", &self.length).finish_non_exhaustive()
    }
}
