#include <map>
#include <string>
#include <cstdio>
namespace outer {
namespace { __attribute__((noinline)) int hidden(int x) { return x * 3; } }
template <typename T> struct Box { T value; __attribute__((noinline)) T twice(T by) const { return value * by; } };
struct Base { virtual ~Base() {} virtual int work(const std::string &s) = 0; };
struct Derived : Base { int work(const std::string &s) override { return hidden(int(s.size())); } };
__attribute__((noinline)) int operator+(const Box<int> &a, int b) { return a.twice(b); }
}
int main(int argc, char **) {
	std::map<std::string, int> m; m["a"] = argc;
	outer::Derived d; outer::Base *b = &d;
	auto f = [&](int x) __attribute__((noinline)) { return x + b->work("abc"); };
	std::printf("%d\n", f(m["a"]) + (outer::Box<int>{3} + 4));
}
