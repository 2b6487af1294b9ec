// A program of 32-bit code without a library: gcc -m32 -static -nostdlib.
static long call(long number, long a, long b)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(number), "b"(a), "c"(b) : "memory");
	return ret;
}

void _start(void)
{
	for (int i = 0; i < 11; i++)
		call(64, 0, 0); /* getppid */
	for (int i = 0; i < 5; i++)
		call(5, (long)"/nonexistent/32", 0); /* open */
	call(1, 0, 0); /* exit */
}
