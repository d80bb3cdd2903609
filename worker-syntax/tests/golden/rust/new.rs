//! A module.
use std::io;
use std::fs;

/// A counter.
pub struct Counter {
    count: u64,
    name: String,
}

fn helper(a: u32, b: u32) -> u32 {
    let sum = a + b;
    println!("sum {sum}");
    sum * 2
}

impl Counter {
    pub fn new(name: &str) -> Self {
        Self { count: 0, name: name.to_owned() }
    }

    pub fn add(&mut self, by: u64) -> u64 {
        self.count = self.count.saturating_add(by);
        self.count
    }
}

fn spaced(a: u32) -> u32 {
    a
}

mod tests {
    fn inner() {
        assert_eq!(1, 2);
    }
}
