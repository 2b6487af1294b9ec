// Values of C++.
#include <string>
#include <string_view>

#ifdef __clang__
#define whole __attribute__((noinline))
#else
#define whole __attribute__((noipa))
#endif

volatile long sink;

struct Base {
	int base_number = 7;
	long base_long = -8;
};

struct Other {
	short other_number = 9;
	virtual ~Other() {}
};

namespace ns {
enum class Mode : unsigned char { Off, On = 200 };

class Thing : public Base, public Other {
public:
	Thing(const char *text) : name(text), view(name) {}
	whole long method(int by, const std::string &text, Mode mode, std::string copy, std::string_view seen);
	std::string name;
	std::string_view view;
	Mode mode = Mode::On;
	Thing *next = nullptr;
	static int shared;
	unsigned a : 4 = 9, b : 12 = 2000;
};

int Thing::shared = 5;

long Thing::method(int by, const std::string &text, Mode mode, std::string copy, std::string_view seen)
{
	long local = by + (long)text.size() + (long)mode + (long)copy.size() + (long)seen.size();
	sink += local + base_number;
	return local;
}

template <typename T> whole T twice(const T &value, T *out)
{
	*out = value + value;
	return *out;
}
}

int main()
{
	ns::Thing thing("the name of the thing"), next("short");
	thing.next = &next;
	std::string copied = "copied text that is long enough for the heap";
	long n = thing.method(3, "a reference", ns::Mode::On, copied, "a view");
	int out;
	return n + ns::twice<int>(21, &out) == 0;
}
