static inline __attribute__((always_inline)) int twice(int x) { return x + x; }
static inline __attribute__((always_inline)) int both(int x, int y)
{
	if (y > 3) {
		int z = twice(y);
		return z + x;
	}
	return twice(x) * y;
}
__attribute__((noinline)) int outer(int n) { return both(n, n + 1) + twice(n); }
__attribute__((cold, section(".text.far"))) int far(int n) { return outer(n) * twice(n); }
int _start(int n) { return outer(n) + far(n); }
