// Static probes whose arguments are numbers that the test knows, in all the places that a compiler finds for them.
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

unsigned short app_counted_semaphore __attribute__((section(".probes")));
unsigned short app_plain_semaphore __attribute__((section(".probes")));
unsigned short app_variables_semaphore __attribute__((section(".probes")));
unsigned short app_inlined_semaphore __attribute__((section(".probes")));
unsigned short other_real_semaphore __attribute__((section(".probes")));

struct item { int id; long size; signed char small; };
static struct item items[8] = {[3] = {.id = -7, .size = 1L << 40, .small = -3}};
long counter = 77;
static int table[8] = {1, 2, 3, 4, 5};
volatile double ratio = 0.25;

__attribute__((noinline)) void numbers(int a, long b, short c, signed char d, unsigned char e, unsigned long long f, long g, long h)
{
	DTRACE_PROBE8(app, plain, a, b, c, d, e, f, g, h);
}

__attribute__((noinline)) void memory(struct item *list, long at)
{
	DTRACE_PROBE5(app, counted, list[at].id, list[at].size, list[at].small, 5, -12345678901L);
}

__attribute__((noinline)) void variables(long at)
{
	DTRACE_PROBE3(app, variables, counter, table[at], &counter);
}

static inline __attribute__((always_inline)) void inlined(int n)
{
	DTRACE_PROBE1(app, inlined, n);
}

__attribute__((noinline)) void floats(double x)
{
	DTRACE_PROBE1(other, real, x);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++) {
		numbers(-1 - i, -1L << 35, -300, -5, 250, ~0ULL, 7, 8);
		memory(items, 3);
		variables(4);
		inlined(10);
		inlined(20);
		floats(ratio);
	}
	return 0;
}
