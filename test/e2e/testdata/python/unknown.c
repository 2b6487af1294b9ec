/* Exports what Python 3.7 does, and computes in its loop, or waits. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char tag[] = "\0cpython-37";
char _PyRuntime[64];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

void _PyEval_EvalFrameDefault(double seconds)
{
	double end = now() + seconds;

	while (now() < end)
		;
}

void PyEval_EvalFrameEx(double seconds)
{
	_PyEval_EvalFrameDefault(seconds);
}

int main(int argc, char **argv)
{
	if (!strcmp(argv[1], "wait"))
		return usleep(60000000);
	PyEval_EvalFrameEx(atof(argv[1]));
	return 0;
}
