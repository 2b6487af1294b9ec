// SPDX-License-Identifier: Apache-2.0
// A small web service: GET /item/N answers with an item's price and the number of people who look at it. Both come from redis, and
// stay in a cache for one to three seconds. Each connection has a thread. docs/why-is-my-service-slow.md finds out why some requests are slow.
//
//   shop PORT REDIS_PORT
#include <arpa/inet.h>
#include <err.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ITEMS = 50 };

struct item {
	double expires; // by now()
	long price, viewers;
};

static struct item cache[ITEMS];
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static int redis_port;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static FILE *connect_to_redis(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	struct sockaddr_in redis = loopback(redis_port);
	if (fd < 0 || connect(fd, (struct sockaddr *)&redis, sizeof(redis)) < 0)
		err(1, "connect to redis, port %d", redis_port);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fdopen(fd, "r");
}

static void read_line(FILE *redis, char line[256])
{
	if (!fgets(line, 256, redis))
		errx(1, "redis closed the connection");
}

// ask_redis sends a command, and returns the number in the answer. Of a list that is its length.
static long ask_redis(FILE *redis, const char *command)
{
	char line[256];
	dprintf(fileno(redis), "%s\r\n", command);
	read_line(redis, line);
	long number = atol(line + 1);
	switch (line[0]) {
	case ':':
		return number;
	case '$': // length of the text in the next line
		read_line(redis, line);
		return atol(line);
	case '*': // a list of texts
		for (long lines = 2 * number; lines > 0; lines--)
			read_line(redis, line);
		return number;
	}
	errx(1, "%s: redis answers %s", command, line);
}

static void load_item(FILE *redis, int n, struct item *item)
{
	char command[64];
	snprintf(command, sizeof(command), "GET price:%d", n);
	item->price = ask_redis(redis, command);
	snprintf(command, sizeof(command), "KEYS view:%d:*", n);
	item->viewers = ask_redis(redis, command);
	item->expires = now() + 1 + n * 2.0 / ITEMS; // not all at the same time
}

static struct item find_item(FILE *redis, int n)
{
	pthread_mutex_lock(&cache_lock);
	if (cache[n].expires < now())
		load_item(redis, n, &cache[n]);
	struct item item = cache[n];
	pthread_mutex_unlock(&cache_lock);
	return item;
}

static void answer(int client, FILE *redis, const char *request)
{
	char body[128];
	int n = -1;
	const char *status = "404 Not Found";
	if (sscanf(request, "GET /item/%d ", &n) == 1 && n >= 0 && n < ITEMS) {
		struct item item = find_item(redis, n);
		status = "200 OK";
		snprintf(body, sizeof(body), "{\"item\":%d,\"price\":%ld,\"viewers\":%ld}\n", n, item.price, item.viewers);
	} else {
		snprintf(body, sizeof(body), "there is only /item/0 to /item/%d\n", ITEMS - 1);
	}
	dprintf(client, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", status, strlen(body), body);
}

static void *serve_connection(void *arg)
{
	int client = (int)(long)arg;
	FILE *redis = connect_to_redis(), *in = fdopen(client, "r");
	char request[256], header[256];
	while (fgets(request, sizeof(request), in)) {
		while (fgets(header, sizeof(header), in) && strcmp(header, "\r\n") != 0)
			;
		answer(client, redis, request);
	}
	fclose(in);
	fclose(redis);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		errx(2, "usage: shop PORT REDIS_PORT");
	signal(SIGPIPE, SIG_IGN);
	redis_port = atoi(argv[2]);
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	struct sockaddr_in here = loopback(atoi(argv[1]));
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener, (struct sockaddr *)&here, sizeof(here)) < 0 || listen(listener, 64) < 0)
		err(1, "listen at port %s", argv[1]);
	for (;;) {
		long client = accept(listener, NULL, NULL);
		pthread_t thread;
		if (client < 0)
			err(1, "accept");
		setsockopt((int)client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (pthread_create(&thread, NULL, serve_connection, (void *)client) != 0)
			errx(1, "no thread for a connection");
		pthread_detach(thread);
	}
}
