// SPDX-License-Identifier: Apache-2.0
// Runs one scenario until it can read a character: prints "ready" when it runs, and in the end what its threads did (truth.h).
#include "truth.h"
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

static const struct {
	const char *name;
	void (*begin)(void);
} scenarios[] = {
	{"cpu-starved", cpu_starved}, {"single-threaded", single_threaded}, {"page-faults", page_faults}, {"migrations", migrations},
	{"one-lock", one_lock}, {"sleeping-owner", sleeping_owner}, {"deadlock-two", deadlock_two}, {"deadlock-three", deadlock_three}, {"full-queue", full_queue},
	{"victim", victim}, {"wakeups", too_many_wakeups}, {"sleeping", sleeping_by_timer}, {"peer", waiting_for_peer},
	{"disk-bound", disk_bound}, {"small-reads", small_reads}, {"short-lived", short_lived}, {"healthy-server", healthy_server}, {"healthy-pool", healthy_pool},
	{"healthy-timer", healthy_periodic}, {"idle-pool", idle_pool}, {"idle-conns", idle_connections}, {"idle-timers", idle_timers},
};

int main(int argc, char **argv)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	TRY(setsid()); // for tools.Prefer
	signal(SIGPIPE, SIG_IGN);
	for (unsigned i = 0; argc == 2 && i < sizeof(scenarios) / sizeof(*scenarios); i++) {
		if (strcmp(argv[1], scenarios[i].name))
			continue;
		prctl(PR_SET_NAME, scenarios[i].name);
		scenarios[i].begin();
		printf("ready\n");
		fflush(stdout);
		run_main(argv[1]);
		print_truth();
		_exit(0); // threads may wait for each other forever
	}
	fprintf(stderr, "usage: %s SCENARIO\n", argv[0]);
	return 2;
}
