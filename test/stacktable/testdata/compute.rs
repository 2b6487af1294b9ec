// Computes in threads and in boxed closures, and never ends.
use std::collections::BTreeMap;

fn digits(n: u64) -> String {
    (0..n % 50).map(|i| (i * n).to_string()).collect::<Vec<_>>().join("")
}

fn count(words: &mut BTreeMap<String, u64>, n: u64) {
    *words.entry(digits(n % 1000)).or_insert(0) += 1;
}

fn forever() {
    let mut words = BTreeMap::new();
    let step: Box<dyn Fn(&mut BTreeMap<String, u64>, u64)> = Box::new(|w, n| count(w, n));
    for n in 0.. {
        step(&mut words, n);
    }
}

fn main() {
    std::thread::spawn(forever);
    forever();
}
