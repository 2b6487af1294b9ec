// office THREADS BUSY FOLDER: answers requests in THREADS threads, each on the CPU for BUSY thousandths of its time, until
// it is killed. It says "ready" once all threads work.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define FUNCTION static __attribute__((noinline))
#define PERIOD_US 20000 // of one request and the wait for the next one

static long busy;
static const char *folder;
static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long sink;

static long now_us(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

// In each of these a part of a request's time on the CPU is spent; the loop stands in it, so that samples find it there.
#define BURN(share)                                                                                                  \
	for (long end = now_us(CLOCK_THREAD_CPUTIME_ID) + PERIOD_US * busy / 1000 * (share) / 100;                   \
	     now_us(CLOCK_THREAD_CPUTIME_ID) < end;)                                                                 \
		for (int i = 0; i < 2000; i++)                                                                       \
	sink += i

FUNCTION void parse_headers(void) { BURN(15); }
FUNCTION void parse_body(void) { BURN(10); }
FUNCTION void parse_request(void) { parse_headers(); parse_body(); sink++; }
FUNCTION void render_table(void) { BURN(30); }
FUNCTION void render_page(void) { BURN(10); render_table(); sink++; }
FUNCTION void compress_page(void) { BURN(25); }
FUNCTION void sign_page(void) { BURN(10); }

FUNCTION void sleep_us(long us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000};
	nanosleep(&t, NULL);
	sink++;
}

FUNCTION void query_database(void) { sleep_us(PERIOD_US / 20); sink++; }

FUNCTION void look_into_cache(void)
{
	pthread_mutex_lock(&cache);
	sleep_us(100);
	pthread_mutex_unlock(&cache);
}

FUNCTION void write_log(int log)
{
	if (pwrite(log, "answered\n", 9, 0) == 9)
		fsync(log);
	sink++;
}

FUNCTION void wait_for_request(void)
{
	poll(NULL, 0, (PERIOD_US * (1000 - busy) / 1000) * 9 / 10 / 1000);
	sink++;
}

FUNCTION void answer(int log)
{
	parse_request();
	look_into_cache();
	query_database();
	render_page();
	compress_page();
	sign_page();
	write_log(log);
}

static void *serve(void *number)
{
	char name[4096];
	snprintf(name, sizeof name, "%s/log%ld", folder, (long)number);
	int log = open(name, O_WRONLY | O_CREAT, 0600);
	for (;;) {
		wait_for_request();
		answer(log);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	busy = atol(argv[2]);
	folder = argv[3];
	for (long i = 1; i < atol(argv[1]); i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, serve, (void *)i))
			return 1;
	}
	puts("ready");
	fflush(stdout);
	serve(0);
}
