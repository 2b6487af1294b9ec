// Sleeps LOOPS times LEVELS calls below main, each time after CACHE MiB have replaced what is in the CPU's caches: cold LOOPS CACHE.
// Each function is in pages of its own and has a page of stack, and each sleep is at a stack pointer of its own, because a recorder
// may remember stacks.
#include <stdlib.h>
#include <time.h>

static volatile char *cache;
static size_t cache_bytes;
static int loops;

__attribute__((noipa)) static void sleeps(int place)
{
	const struct timespec moment = {0, 50000};
	volatile char *room = static_cast<char *>(__builtin_alloca(16 * place + 1));

	room[0] = 0;
	for (size_t i = 0; i < cache_bytes; i += 64)
		cache[i] = i;
	nanosleep(&moment, NULL);
	room[0] = 1; // no tail call
}

template <int level> __attribute__((noipa, aligned(32768))) static void call()
{
	volatile char room[4096];

	room[0] = 0;
	if constexpr (level > 0)
		call<level - 1>();
	else
		for (int i = 0; i < loops; i++)
			sleeps(i);
	room[1] = room[0];
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	loops = atoi(argv[1]);
	cache_bytes = static_cast<size_t>(atoi(argv[2])) << 20;
	cache = static_cast<char *>(malloc(cache_bytes + 1));
	if (!cache)
		return 1;
	call<LEVELS>();
	return 0;
}
