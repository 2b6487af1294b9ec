# Times its own calls by CLOCK_MONOTONIC: prints, for each call of timed(), the times before it, in it at its begin and its end, and after it.
import sys, time

def timed(ns):
    begin = time.monotonic_ns()
    if ns > 1000000:
        time.sleep(ns / 1e9)
    while time.monotonic_ns() < begin + ns:
        pass
    end = time.monotonic_ns()
    return begin, end

def main(rounds):
    all = []
    for i in range(rounds):
        ns = 20000000 if i % 500 == 0 else i % 40 * 1000
        before = time.monotonic_ns()
        begin, end = timed(ns)
        all.append((before, begin, end, time.monotonic_ns()))
    return all

import select
while not select.select([0], [], [], 0.001)[0]:
    if not globals().get("said"):
        said = True
        print("ready", flush=True)
sys.stdin.readline()
all = main(int(sys.argv[1]))
for times in all:
    print(*times)
print("done", flush=True)
sys.stdin.readline()
