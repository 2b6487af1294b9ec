// Functions, a method and a generic one that are called a known number of times.
pub mod shop {
    pub struct Cart {
        pub total: i64,
    }
    impl Cart {
        #[inline(never)]
        pub fn add(&mut self, price: i32) -> i64 {
            self.total += i64::from(price);
            std::hint::black_box(self.total)
        }
    }
    #[inline(never)]
    pub fn twice<T: Copy + std::ops::Add<Output = T>>(value: T) -> T {
        std::hint::black_box(value + value)
    }
}

fn main() {
    let mut cart = shop::Cart { total: 0 };
    for i in 0..14 {
        std::hint::black_box(cart.add(std::hint::black_box(i - 7)));
        if i % 2 == 0 {
            shop::twice(std::hint::black_box(i64::from(i)));
        }
    }
    println!("total={}", cart.total);
}
