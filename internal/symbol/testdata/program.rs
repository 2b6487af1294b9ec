mod inner {
    pub trait Work { fn work(&self, x: u64) -> u64; }
    pub struct Multiplier(pub u64);
    impl Work for Multiplier { #[inline(never)] fn work(&self, x: u64) -> u64 { self.0 * x } }
    #[inline(never)] pub fn generic<T: Work>(t: &T, x: u64) -> u64 { t.work(x) + 1 }
}
#[inline(never)] fn hot(n: u64) -> u64 { (0..n).fold(0, |a, b| a ^ b.wrapping_mul(31)) }
fn main() {
    let n = std::env::args().count() as u64;
    println!("{}", inner::generic(&inner::Multiplier(3), hot(n)));
}
