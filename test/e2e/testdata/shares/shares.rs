// shares.c in Rust.
use std::arch::asm;
use std::time::{Duration, Instant};

mod work {
    use super::*;

    #[inline(always)]
    fn spin(n: u64) {
        let mut i: u64 = 0;
        while i < n * 3011 {
            unsafe { asm!("/* {0} */", inout(reg) i) };
            i += 1;
        }
    }

    #[inline(never)]
    pub fn alpha() {
        spin(2)
    }

    #[inline(never)]
    pub fn beta() {
        spin(3)
    }

    #[inline(never)]
    pub fn gamma() {
        spin(5)
    }

    pub struct Tree;

    impl Tree {
        #[inline(never)]
        pub fn left(&self) {
            alpha();
            beta();
            unsafe { asm!("") };
        }

        #[inline(never)]
        pub fn right(&self) {
            gamma();
            unsafe { asm!("") };
        }
    }
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let tree = work::Tree;
    while Instant::now() < end {
        for _ in 0..100 {
            tree.left();
            tree.right();
        }
    }
}
