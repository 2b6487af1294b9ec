// A library with a function that the dynamic linker finds by calling another one.
#include <unistd.h>

static volatile int sink;

static void nothing(void)
{
}

/* The dynamic linker calls it when lazy() is called first. */
static void (*resolve(void))(void)
{
	sleep(60);
	return nothing;
}

void lazy(void) __attribute__((ifunc("resolve")));

void call_lazily(void)
{
	lazy();
	sink++;
}
