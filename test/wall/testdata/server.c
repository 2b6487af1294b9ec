/* Waits for work that never comes; ends with its standard input. */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	char c;

	puts("ready");
	fflush(stdout);
	while (poll(&in, 1, -1) >= 0)
		if (in.revents && read(0, &c, 1) <= 0)
			break;
	return 0;
}
