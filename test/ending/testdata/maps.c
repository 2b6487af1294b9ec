/*
 * maps N BYTES: N processes that run generated code, each with a map file of BYTES bytes, which takes long to read.
 * Prints the names of the files and "ready"; the processes run until they are killed.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Counts its argument down. */
#if defined(__x86_64__)
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3};
#elif defined(__aarch64__)
static const unsigned int code[] = {0xf1000400, 0x54ffffe1, 0xd65f03c0};
#endif

/* Lines of functions, the same ones again and again: making others would take longer than reading them. */
static void write_lines(FILE *map, long bytes)
{
	static char lines[1 << 20];
	size_t used = 0;

	for (long i = 0; used < sizeof(lines) - 64; i++)
		used += sprintf(lines + used, "%lx 10 function_%ld\n", 0x1000 + 16 * i, i);
	for (; bytes > 0; bytes -= used)
		fwrite(lines, 1, bytes < (long)used ? (size_t)bytes : used, map);
}

static void compile(long bytes)
{
	char name[64];
	char *at = mmap(0, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *map;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	memcpy(at, code, sizeof(code));
	__builtin___clear_cache(at, at + sizeof(code));
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
	map = fopen(name, "w");
	fprintf(map, "%lx %lx compiled\n", (long)at, (long)sizeof(code));
	write_lines(map, bytes);
	fflush(map);
	raise(SIGSTOP);
	mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (;;) {
		((void (*)(long))at)(3000000);
		usleep(100000);
	}
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]);

	for (int i = 0; i < n; i++) {
		int pid = fork();

		if (!pid)
			compile(atol(argv[2]));
		waitpid(pid, NULL, WUNTRACED);
		kill(pid, SIGCONT);
		printf("/tmp/perf-%d.map\n", pid);
	}
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
