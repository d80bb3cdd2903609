//! A module.
use std::fs;
use std::io;

/// A counter.
pub struct Counter {
    count: u32,
}

impl Counter {
    pub fn new() -> Self {
        Self { count: 0 }
    }

    pub fn add(&mut self, by: u32) -> u32 {
        self.count += by;
        self.count
    }
}

fn helper(a: u32, b: u32) -> u32 {
    let sum = a + b;
    println!("sum {sum}");
    sum * 2
}

fn spaced( a:u32 ) -> u32 { a }

mod tests {
    fn inner() {
        assert_eq!(1, 1);
    }
}
