"""Blocks in threads and prints the stack of each as the interpreter has it. Then it waits until its input ends."""
import json
import os
import queue
import socket
import sys
import threading
import time

FOREVER = 100000


def names(frame):
    stack = []
    while frame:
        code = frame.f_code
        stack.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return stack


def sleeps():
    time.sleep(FOREVER)


def locks():
    lock = threading.Lock()
    lock.acquire()
    with lock:
        pass


class Worker:
    def takes(self):
        queue.Queue().get()

    def receives(self):
        a, b = socket.socketpair()
        a.recv(1)


def generates():
    time.sleep(FOREVER)
    yield


def iterates():
    for _ in generates():
        pass


def recurses(n=200):
    if n:
        recurses(n - 1)
    time.sleep(FOREVER)


def calls_back():
    sorted([1, 2], key=lambda x: time.sleep(FOREVER))


def main_ways():
    worker = Worker()
    return [sleeps, locks, worker.takes, worker.receives, iterates, recurses, calls_back]


def enters():
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    another = interpreters.create()
    interpreters.run_string(another, "import os, time\ndef inside():\n    os.write(%d, b'x')\n    time.sleep(%d)\n" % (is_inside[1], FOREVER))
    interpreters.run_string(another, "inside()")


ways = main_ways() + ([enters] if "sub" in sys.argv else [])
threads = [threading.Thread(target=way, daemon=True) for way in ways for _ in range(4 if way is not enters else 1)]
is_inside = os.pipe()
for thread in threads:
    thread.start()
if "sub" in sys.argv:
    os.read(is_inside[0], 1)
time.sleep(0.5)
stays = []
frames = sys._current_frames()
for thread in threads:
    stack = names(frames[thread.ident])
    if stack[0][0] == "enters":
        stack[:0] = [["inside", "", 0], ["<module>", "", 0]]
    stays.append({"tid": thread.native_id, "stack": stack})
print(json.dumps({"stays": stays}), flush=True)
sys.stdin.read()
os._exit(0)
