// shares.c in C++: names in a namespace, a method and a template.
#include <cstdlib>
#include <ctime>
#include <vector>

namespace work {

template <int N>
__attribute__((noinline)) void spin(const std::vector<long> &) {
	// gcc gives a function that needs none no frame, whatever the flags; then its caller is not seen.
	asm volatile("" : : "r"(__builtin_frame_address(0)));
	for (long i = 0; i < N * 3011L; i++)
		asm volatile("" : "+r"(i));
}

struct Machine {
	std::vector<long> none;
	__attribute__((noinline)) void left() {
		spin<2>(none);
		spin<3>(none);
		asm volatile("");
	}
	__attribute__((noinline)) void right() {
		spin<5>(none);
		asm volatile("");
	}
};

}  // namespace work

static double cpu() {
	timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
	work::Machine m;
	for (double end = cpu() + (argc > 1 ? atof(argv[1]) : 1); cpu() < end;)
		for (int i = 0; i < 100; i++) {
			m.left();
			m.right();
		}
}
