"""Threads that need the interpreter's global lock at the same time. Prints of each how long it was off its CPU, as its own clocks say it."""
import json
import sys
import threading
import time

log = []


def compute(cpu):
    n, until = 0, time.thread_time_ns() + cpu
    while time.thread_time_ns() < until:
        for i in range(2000):
            n += i
    return n


def hold(cpu):
    until = time.thread_time_ns() + cpu
    while time.thread_time_ns() < until:
        sum(range(3000000))  # one call of C, which does not give the lock away


def measured(work, cpu, start, entry):
    entry["tid"] = threading.get_native_id()
    start.wait()
    entry["from"], before = time.monotonic_ns(), time.thread_time_ns()
    work(cpu)
    entry["cpu"] = time.thread_time_ns() - before
    entry["to"] = time.monotonic_ns()


def compete(interval, *works):
    sys.setswitchinterval(interval)
    start = threading.Barrier(len(works))
    entries = [{"works": work.__name__, "others": []} for work in works]
    threads = [threading.Thread(target=measured, args=(work, 200000000, start, entry)) for work, entry in zip(works, entries)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for entry in entries:
        # This thread needs the lock too, when one of them has ended.
        entry["others"] = [other["tid"] for other in entries if other is not entry] + [threading.get_native_id()]
    log.extend(entries)


compute(100000000)
time.sleep(1)  # until the recorder has read this interpreter, on a busy machine too
compute(50000000)
compete(0.005, compute, compute)
compete(0.001, compute, compute, compute)
compete(0.005, compute, hold)
json.dump(log, sys.stdout)
