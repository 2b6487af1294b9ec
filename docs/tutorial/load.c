// SPDX-License-Identifier: Apache-2.0
// Clients of the shop: eight connections, each of which requests a random item, and pauses for 5 ms after the answer. Prints how long
// requests took, every few seconds.
//
//   load PORT [SECONDS]      SECONDS between two lines (5)
#include <arpa/inet.h>
#include <err.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 8, ITEMS = 50, MOST = 1 << 20 };

static double times[MOST]; // in ms, since the last line
static int count;
static pthread_mutex_t times_lock = PTHREAD_MUTEX_INITIALIZER;
static int port;

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static int connect_to_shop(void)
{
	struct sockaddr_in shop = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	if (fd < 0 || connect(fd, (struct sockaddr *)&shop, sizeof(shop)) < 0)
		err(1, "connect to port %d", port);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

// request_item returns how long the answer took, in ms.
static double request_item(int shop, int n)
{
	char answer[512];
	double start = now_ms();
	dprintf(shop, "GET /item/%d HTTP/1.1\r\nHost: localhost\r\n\r\n", n);
	ssize_t got = read(shop, answer, sizeof(answer) - 1); // the shop writes an answer at once
	answer[got > 0 ? got : 0] = 0;
	if (strncmp(answer, "HTTP/1.1 200", 12) != 0)
		errx(1, "the shop answers \"%s\"", answer);
	return now_ms() - start;
}

static void *run_client(void *arg)
{
	unsigned seed = (unsigned)(long)arg;
	int shop = connect_to_shop();
	for (;;) {
		double took = request_item(shop, rand_r(&seed) % ITEMS);
		pthread_mutex_lock(&times_lock);
		if (count < MOST)
			times[count++] = took;
		pthread_mutex_unlock(&times_lock);
		usleep(5000);
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void print_times(int seconds)
{
	static double sorted[MOST];
	pthread_mutex_lock(&times_lock);
	int n = count;
	memcpy(sorted, times, n * sizeof(sorted[0]));
	count = 0;
	pthread_mutex_unlock(&times_lock);
	if (n == 0)
		errx(1, "no answer for %d s", seconds);
	qsort(sorted, n, sizeof(sorted[0]), by_value);
	printf("%5d requests/s   median %6.2f ms   p90 %6.2f ms   p99 %6.2f ms   longest %6.2f ms\n", n / seconds,
	       sorted[n / 2], sorted[n * 9L / 10], sorted[n * 99L / 100], sorted[n - 1]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		errx(2, "usage: load PORT [SECONDS]");
	port = atoi(argv[1]);
	int seconds = argc > 2 ? atoi(argv[2]) : 5;
	for (long i = 1; i <= CLIENTS; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, run_client, (void *)i) != 0)
			errx(1, "no thread for a client");
	}
	for (;;) {
		sleep(seconds);
		print_times(seconds);
	}
}
