/*
 * Calls functions that begin with different instructions, and prints how many seconds that took: ./probes FUNCTION CALLS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sdt.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A uprobe on push is emulated, one on lea is single-stepped, and one on a nop of 5 bytes is a call since Linux 6.18. */
asm(".text\n"
    ".globl pushes\n .type pushes, @function\n pushes: push %rbp\n mov %rsp, %rbp\n mov %edi, %eax\n pop %rbp\n ret\n .size pushes, .-pushes\n"
    ".globl nops\n .type nops, @function\n nops: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n mov %edi, %eax\n ret\n .size nops, .-nops\n"
    ".globl steps\n .type steps, @function\n steps: lea 1(%rdi), %rax\n ret\n .size steps, .-steps\n");

typedef int function(int number, int twice, const char *text);
function pushes, nops, steps;

static int fires(int number, int twice, const char *text)
{
	DTRACE_PROBE2(bench, fires, number, twice);
	return 0;
}

static int calls(int number, int twice, const char *text)
{
	return syscall(SYS_getppid);
}

static const struct {
	const char *name;
	function *of;
} functions[] = { { "pushes", pushes }, { "nops", nops }, { "steps", steps }, { "fires", fires }, { "calls", calls } };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 1;
	function *f = pushes;
	double start;

	for (int i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (argc > 1 && !strcmp(argv[1], functions[i].name))
			f = functions[i].of;
	start = now();
	for (int i = 0; i < rounds; i++)
		f(i, 2 * i, "GET /index.html");
	printf("%.9f\n", now() - start);
	return 0;
}
