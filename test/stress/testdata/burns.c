/* Computes in burn() until it is killed. */
#include <unistd.h>

__attribute__((noinline)) void burn(long turns)
{
	for (volatile long i = 0; i < turns; i++)
		;
}

int main(void)
{
	burn(1000);
	if (write(1, "ready\n", 6) < 0)
		return 1;
	for (;;)
		burn(1000000);
}
