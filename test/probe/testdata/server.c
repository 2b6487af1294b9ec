/*
 * The server of docs/utrace.md:
 *
 *   server [N]   handles N requests, 400 by default
 *   server 0     handles requests until it is killed
 *
 * Each request is read by the first thread and handled by another one; every 20th is slow.
 */
#define _GNU_SOURCE
#include <sys/sdt.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FUNCTION __attribute__((noipa))

struct block {
	char bytes[4096];
};

enum method { GET, PUT };

struct user {
	char name[16];
	unsigned int is_admin : 1, failures : 3;
};

struct link {
	struct link *next;
};

struct request {
	int id;
	enum method method;
	const char *path;
	struct user *user;
	int count;
	size_t sizes[4];
	struct link queue;
};

static sem_t queued, handled;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int request;
static struct link *first;

FUNCTION long read_block(int id, size_t size, long offset)
{
	static struct block block;

	memset(block.bytes, id, size > sizeof block.bytes ? sizeof block.bytes : size);
	return size;
}

FUNCTION int check_user(const char *name) { return strcmp(name, "guest") != 0; }

FUNCTION void enqueue(struct link *link)
{
	link->next = first;
	first = link;
}

FUNCTION void on_timer(void *data) { first = ((struct request *)data)->queue.next; }

FUNCTION long answer(struct request *request)
{
	long sent = 0;

	for (int i = 0; i < request->count; i++) {
		size_t size = request->sizes[i];
		sent += read_block(request->id, size, sent);
	}
	usleep(request->id % 20 == 19 ? 12000 : 50);
	return sent;
}

FUNCTION int handle_request(int id, const char *path)
{
	struct user user = {.name = "anna", .is_admin = id % 2, .failures = id % 5};
	struct request r = {id, id % 4 ? GET : PUT, path, &user, 1 + id % 3};

	if (id % 10 == 0)
		strcpy(user.name, "guest");
	for (int i = 0; i < r.count; i++)
		r.sizes[i] = 512 << id % 4;
	enqueue(&r.queue);
	answer(&r);
	on_timer(&r);
	return check_user(user.name) ? 200 : 403;
}

static void *handle(void *unused)
{
	prctl(PR_SET_NAME, "worker");
	for (;;) {
		char *path = malloc(32);
		int id, status;

		sem_wait(&queued);
		id = request;
		snprintf(path, 32, "/item/%d", id % 8);
		DTRACE_PROBE2(server, start, id, path);
		status = handle_request(id, path);
		DTRACE_PROBE2(server, finish, id, status);
		pthread_mutex_lock(&lock);
		free(path);
		pthread_mutex_unlock(&lock);
		sem_post(&handled);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 400;
	pthread_t thread;

	sem_init(&queued, 0, 0);
	sem_init(&handled, 0, 0);
	pthread_create(&thread, NULL, handle, NULL);
	for (request = 0; n == 0 || request < n; request++) {
		DTRACE_PROBE1(server, accept, request);
		sem_post(&queued);
		sem_wait(&handled);
	}
}
