// generate.c runs two generated functions, first() and then second(), at one address, for a time each, and lists them in a jitdump in the
// current folder: generate MS [remove]. With remove it removes the dump before it ends.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef __x86_64__
// push %rbp; mov %rsp, %rbp; 1: dec %rdi; jnz 1b; pop %rbp; ret
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};
#else
// 1: subs x0, x0, #1; b.ne 1b; ret
static const uint32_t code[] = {0xf1000400, 0x54ffffe1, 0xd65f03c0};
#endif

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void put32(FILE *f, uint32_t n) { fwrite(&n, 4, 1, f); }
static void put64(FILE *f, uint64_t n) { fwrite(&n, 8, 1, f); }

static void list(FILE *f, uint64_t address, uint64_t index, const char *name, uint32_t line)
{
	const char file[] = "/src/generated.src";
	put32(f, 2); // JIT_CODE_DEBUG_INFO
	put32(f, 16 + 16 + 16 + sizeof(file));
	put64(f, now());
	put64(f, address);
	put64(f, 1);
	put64(f, address);
	put32(f, line);
	put32(f, 0);
	fwrite(file, sizeof(file), 1, f);
	put32(f, 0); // JIT_CODE_LOAD
	put32(f, 16 + 40 + strlen(name) + 1 + sizeof(code));
	put64(f, now());
	put32(f, getpid());
	put32(f, getpid());
	put64(f, address);
	put64(f, address);
	put64(f, sizeof(code));
	put64(f, index);
	fwrite(name, strlen(name) + 1, 1, f);
	fwrite(code, sizeof(code), 1, f);
	fflush(f);
}

int main(int argc, char **argv)
{
	uint64_t each = strtoull(argv[1], 0, 10) * 1000000;
	char path[64];
	snprintf(path, sizeof(path), "jit-%d.dump", getpid());
	FILE *f = fopen(path, "w+");
	put32(f, 0x4A695444);
	put32(f, 1);
	put32(f, 40);
	put32(f, 0);
	put32(f, 0);
	put32(f, getpid());
	put64(f, now());
	put64(f, 0);
	fflush(f);
	if (mmap(0, getpagesize(), PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) == MAP_FAILED)
		return 1;
	void *at = mmap(0, getpagesize(), PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return 1;
	const char *names[] = {"first", "second"};
	for (int i = 0; i < 2; i++) {
		memcpy(at, code, sizeof(code));
		__builtin___clear_cache(at, (char *)at + sizeof(code));
		list(f, (uint64_t)at, i, names[i], 11 * (i + 1));
		for (uint64_t end = now() + each; now() < end;)
			((void (*)(uint64_t))at)(1000000);
	}
	if (argc > 2)
		unlink(path);
	return 0;
}
