//! A map that keeps only what was used last: the bound on everything that the supervisor remembers about callers.
//! Trust: keys may be a caller's text; they are compared and dropped, nothing else.

use std::{borrow::Borrow, collections::HashMap, hash::Hash};

/// At most `cap` entries; one more drops the one that was not touched for longest.
#[derive(Debug)]
pub struct Recent<K, V> {
    entries: HashMap<K, (V, u64)>,
    touches: u64,
    cap: usize,
}

impl<K: Hash + Eq + Clone, V> Recent<K, V> {
    /// An empty map for `cap` entries, at least one.
    #[must_use]
    pub fn new(cap: usize) -> Self {
        Self { entries: HashMap::new(), touches: 0, cap: cap.max(1) }
    }

    /// The value of `key`, which counts as used now.
    pub fn get<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.touches += 1;
        let (value, touched) = self.entries.get_mut(key)?;
        *touched = self.touches;
        Some(value)
    }

    /// The value of `key`, first made by `make` where there is none.
    pub fn get_or(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        self.touches += 1;
        if self.entries.len() >= self.cap && !self.entries.contains_key(&key) {
            // a scan: the cap is small, and this happens only when the map is full
            let oldest = self.entries.iter().min_by_key(|(_, (_, touched))| *touched).map(|(key, _)| key.clone());
            if let Some(oldest) = oldest {
                self.entries.remove(&oldest);
            }
        }
        let touches = self.touches;
        let (value, touched) = self.entries.entry(key).or_insert_with(|| (make(), touches));
        *touched = touches;
        value
    }

    /// Sets the value of `key`.
    pub fn put(&mut self, key: K, value: V) {
        let mut value = Some(value);
        let held = self.get_or(key, || value.take().expect("called once"));
        if let Some(value) = value {
            *held = value;
        }
    }

    /// Forgets `key`.
    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.entries.remove(key).map(|(value, _)| value)
    }

    /// How many are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_not_touched_for_longest_goes() {
        let mut map = Recent::new(2);
        map.put("a", 1);
        map.put("b", 2);
        map.put("a", 3);
        map.put("c", 4);
        assert_eq!(map.len(), 2);
        assert_eq!(map.get("a"), Some(&mut 3));
        assert_eq!(map.get("b"), None);
        assert_eq!(map.remove("c"), Some(4));
        assert_eq!(map.len(), 1);
    }
}
