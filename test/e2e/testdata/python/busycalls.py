"""Calls a function in eight threads at once, as often as its argument says in each, after a line on standard input."""
import select
import sys
import threading

calls = int(sys.argv[1])
begun = threading.Event()


def leaf(n):
    return n


def work():
    begun.wait()
    for n in range(calls):
        leaf(n)


threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
print("ready", flush=True)
# The main thread runs code of Python while the agent starts.
while not select.select([0], [], [], 0.001)[0]:
    pass
sys.stdin.readline()
begun.set()
for thread in threads:
    thread.join()
print("done", flush=True)
sys.stdin.readline()
