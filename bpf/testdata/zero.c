// Sleeps 50 times below a function whose frame pointer is 0, as at the root of a stack.
#include <time.h>

static volatile int sink;

__attribute__((noipa)) static void below_zero(void)
{
	struct timespec length = {0, 1000000};

	__asm__ volatile("xor %%ebp, %%ebp" ::: "rbp");
	nanosleep(&length, NULL);
	sink++;
}

int main(void)
{
	for (int i = 0; i < 50; i++)
		below_zero();
	return 0;
}
