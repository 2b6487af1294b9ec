/* Static probes without semaphores. */
#include <sys/sdt.h>

#include "known.h"

FUNCTION void plain_probes(int calls)
{
	char text[] = "plain 0";

	for (int i = 0; i < calls; i++) {
		text[6] = '0' + i % 10;
		DTRACE_PROBE3(known, plain, i, -5000000000L * i, text);
	}
}
