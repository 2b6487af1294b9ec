/* alpha, beta and gamma take 20, 30 and 50 percent of the time: the same loop, two, three and five times as long. */
#include <stdlib.h>
#include <time.h>

/* gcc gives a function that needs none no frame, whatever the flags; then its caller is not seen. */
#define FRAME __asm__ volatile("" : : "r"(__builtin_frame_address(0)))
#define SPIN(n) FRAME; for (long i = 0; i < (n) * 3011L; i++) __asm__ volatile("" : "+r"(i))

__attribute__((noinline)) void alpha(void) { SPIN(2); }
__attribute__((noinline)) void beta(void) { SPIN(3); }
__attribute__((noinline)) void gamma_(void) { SPIN(5); }

__attribute__((noinline)) void left(void)
{
	alpha();
	beta();
	__asm__ volatile("");
}

__attribute__((noinline)) void right(void)
{
	gamma_();
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	for (double end = t.tv_sec + t.tv_nsec / 1e9 + seconds; t.tv_sec + t.tv_nsec / 1e9 < end;) {
		for (int i = 0; i < 100; i++) {
			left();
			right();
		}
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	}
	return 0;
}
