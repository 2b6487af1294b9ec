// Methods, overloads and templates that are called a known number of times.
#include <string>

namespace shop {

struct Cart {
	long total = 0, paid = 0;
	__attribute__((noipa)) void add(int price) { total += price; }
	__attribute__((noipa)) void add(int price, const char *name) { total += price + (name != nullptr); }
	__attribute__((noipa)) void pay(const std::string &customer) { paid += customer.size(); }
	__attribute__((noipa)) bool operator<(const Cart &other) const { return total < other.total; }
};

template <typename T> struct Box {
	T content;
	__attribute__((noipa)) T put(T value) { T before = content; content = value; return before; }
};

__attribute__((noipa)) int risky(int n)
{
	if (n % 3 == 0)
		throw std::string("refused");
	return n;
}

}

int main()
{
	shop::Cart a, b;
	shop::Box<int> numbers{0};
	shop::Box<std::string> texts{""};
	int failed = 0;

	for (int i = 0; i < 12; i++) {
		a.add(i);
		if (i % 2)
			b.add(-i, "half");
		if (i % 3 == 0)
			(void)(a < b);
		numbers.put(i * 10);
		if (i % 4 == 0)
			texts.put("text");
		a.pay(i % 2 ? "anna" : "a customer with a long name");
		try {
			shop::risky(i);
		} catch (const std::string &) {
			failed++;
		}
	}
	return failed == 4 ? 0 : 1;
}
