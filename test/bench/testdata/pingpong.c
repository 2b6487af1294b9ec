/* Two processes that wake each other through pipes for some seconds. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int pass(int from, int to)
{
	char c;

	return read(from, &c, 1) == 1 && write(to, &c, 1) == 1;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atol(argv[1]) : 1);
	int there[2], back[2];

	if (pipe(there) || pipe(back))
		return 1;
	if (fork() == 0) {
		close(there[1]);
		while (pass(there[0], back[1]))
			;
		_exit(0);
	}
	if (write(there[1], "x", 1) != 1)
		return 1;
	while (time(NULL) < end && pass(back[0], there[1]))
		;
	return 0;
}
