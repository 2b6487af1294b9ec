// SPDX-License-Identifier: Apache-2.0
// Programs that measure what their threads do, for tests that compare it with a capture.
#pragma once
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_THREADS = 512 };

#define TRY(call) ({ long r_ = (call); if (r_ < 0) { perror(#call); exit(1); } r_; })

// Whether a thread waits for work, so that the wait is idle, or has work.
enum use { FOR_WORK, HAS_WORK };

int64_t now_ns(void);
void spin_ns(int64_t ns);  // uses that much CPU time
void sleep_ns(int64_t ns); // at one place for all callers: a wait by itself is not measured

// Starts a thread with this name. What it measures is printed by print_truth.
void start(const char *name, void *(*body)(void *), void *argument);

// The main thread runs step again and again; without one it waits for the test.
void repeat(void (*step)(void));
void run_main(const char *name);

// A wait of the calling thread: begin_wait, the call that waits, end_wait. The class is that of internal/waits, with _ for spaces.
void begin_wait(const char *class, enum use use);
void end_wait(void);

// Prints "thread TID NAME", "sched TID CPU DELAY" with the kernel's own count of its time on a CPU and runnable, "span TID CLASS work|busy FROM TO" for its waits, in ns of CLOCK_MONOTONIC, and
// "end". TO of a wait that has not ended is INT64_MAX.
void print_truth(void);

// The scenarios, by the file that has them. Each returns when its threads run.
void cpu_starved(void), single_threaded(void), page_faults(void), migrations(void);
void one_lock(void), sleeping_owner(void), deadlock_two(void), deadlock_three(void), full_queue(void), victim(void), too_many_wakeups(void);
void sleeping_by_timer(void), waiting_for_peer(void), disk_bound(void), small_reads(void), short_lived(void);
void healthy_server(void), healthy_pool(void), healthy_periodic(void);
void idle_pool(void), idle_connections(void), idle_timers(void);
