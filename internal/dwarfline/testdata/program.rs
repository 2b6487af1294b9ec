use std::collections::HashMap;

struct Points(Vec<(i64, i64)>);

impl Points {
    #[inline]
    fn distance(a: &(i64, i64), b: &(i64, i64)) -> i64 {
        let square = |x: i64| x * x;
        square(a.0 - b.0) + square(a.1 - b.1)
    }

    fn nearest(&self, to: &(i64, i64)) -> Option<&(i64, i64)> {
        self.0.iter().filter(|p| *p != to).min_by_key(|p| Self::distance(p, to))
    }
}

fn main() {
    let n = std::env::args().count() as i64 * 50;
    let points = Points((0..n).map(|i| (i * 7919 % 101, i * 104729 % 103)).collect());
    let mut counts: HashMap<String, usize> = HashMap::new();
    for p in &points.0 {
        if let Some(q) = points.nearest(p) {
            *counts.entry(format!("{}/{}", q.0 % 5, q.1 % 3)).or_default() += 1;
        }
    }
    let mut all: Vec<_> = counts.into_iter().collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    for (name, count) in all.iter().take(10) {
        println!("{name}: {count}");
    }
}
