use std::hint::black_box;

mod inner {
    use std::hint::black_box;
    pub struct Thing { pub count: u32 }
    impl Thing {
        #[inline(never)]
        pub fn grow(&mut self, by: u32, name: &str) -> u32 { self.count += by + black_box(name).len() as u32; self.count }
    }
    #[inline(never)]
    pub fn show(text: String, list: &[u32]) -> usize { black_box(text).len() + black_box(list).len() }
}

fn main() {
    let mut thing = inner::Thing { count: 1 };
    let grown = thing.grow(black_box(41), black_box("rusty name"));
    let shown = inner::show(black_box(String::from("an owned text")), black_box(&[1, 2, 3]));
    println!("{} {}", grown, shown);
}
