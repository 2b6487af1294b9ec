// Functions of several forms of name.
#include <cstdlib>
#include <string>
#include <vector>

namespace ns {
class Class {
public:
	__attribute__((noinline)) int method(int a, long b) { return value + a + (int)b; }
	__attribute__((noinline)) int method(const char *text) { return value + text[0]; }
	int value = 1;
};

template <typename T> __attribute__((noinline)) T twice(T v) { return v + v; }
}

extern "C" {
__attribute__((noinline)) int plain(int a) { return a * 3; }
int other_plain(int a) __attribute__((alias("plain")));

static int one(int a) { return a + 1; }
static int two(int a) { return a + 2; }
static int (*choose(void))(int) { return getenv("TWO") ? two : one; }
int chosen(int a) __attribute__((ifunc("choose")));
__attribute__((noinline)) int __chosen_fast(int a) { return a; }
}

int main(int argc, char **argv)
{
	ns::Class c;
	std::string text = "abc";
	return c.method(argc, 2) + c.method(argv[0]) + ns::twice(argc) + (int)ns::twice(2.5) + plain(argc) + other_plain(1) + chosen(1) + __chosen_fast(3);
}
