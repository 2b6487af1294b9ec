// SPDX-License-Identifier: Apache-2.0
// The same as locks.c with std::mutex.
#include <mutex>
#include <thread>
#include <vector>
#include "locks.h"

static std::mutex mutex;

static void contend(watch *w)
{
	watch_open(w);
	for (int i = 0; i < 60; i++) {
		watch_begin(w);
		std::lock_guard<std::mutex> held(mutex);
		watch_end(w);
		hold();
	}
}

int main()
{
	std::vector<watch> watches(4);
	std::vector<std::thread> threads;
	char object[32];

	for (auto &w : watches)
		threads.emplace_back(contend, &w);
	for (auto &t : threads)
		t.join();
	snprintf(object, sizeof(object), "0x%lx", (unsigned long)mutex.native_handle());
	for (auto &w : watches)
		watch_print(&w, object);
}
