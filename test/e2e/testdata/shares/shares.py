"""Computes for some seconds of its CPU time, of which three functions take 50%, 30% and 20%, and prints what they took by its own clock."""
import json
import sys
import threading
import time

took = {"alpha": 0, "beta": 0, "gamma": 0}


def alpha(until):
    n = 0
    while time.thread_time_ns() < until:
        n += sum(range(20))
    return n


def beta(until):
    n = 0
    while time.thread_time_ns() < until:
        n += sum(range(20))
    return n


def gamma(until):
    n = 0
    while time.thread_time_ns() < until:
        n += sum(range(20))
    return n


def turn(function, ns):
    begun = time.thread_time_ns()
    function(begun + ns)
    took[function.__name__] += time.thread_time_ns() - begun


def main(seconds):
    # Odd times, so that samples do not keep step with them.
    for _ in range(int(seconds * 1e9 / 7_770_000)):
        turn(alpha, 3_885_000)
        turn(beta, 2_331_000)
        turn(gamma, 1_554_000)


main(float(sys.argv[1]))
json.dump({"tid": threading.get_native_id(), "took": took}, sys.stdout)
