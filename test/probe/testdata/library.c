/* A library with a function, and with a static probe that has a semaphore. */
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include "known.h"

__extension__ unsigned short library_called_semaphore __attribute__((unused, section(".probes")));

static int enabled;

FUNCTION int library_call(int n)
{
	if (library_called_semaphore) {
		enabled++;
		DTRACE_PROBE1(library, called, n);
	}
	return n + 1;
}

int library_enabled(void) { return enabled; }
