"""Waits and computes in many kinds of functions, and prints the stack of each as its own frames have it."""
import json
import os
import re
import sys
import threading
import time

log = []
sys.setrecursionlimit(3000)
children = []


def names(frame):
    stack = []
    while frame:
        code = frame.f_code
        stack.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return stack


def begin():
    entry = {"tid": threading.get_native_id(), "stack": names(sys._getframe(1))}
    log.append(entry)
    entry["from"] = time.monotonic_ns()
    return entry


def end(entry):
    entry["to"] = time.monotonic_ns()


def waits():
    e = begin(); time.sleep(0.003); end(e)


def computes():
    e = begin(); sum(range(50000)); end(e)


def both():
    waits()
    computes()


def recurse(n, then):
    if n > 0:
        return recurse(n - 1, then)
    return then()


def generate():
    for i in range(2):
        both()
        yield i


def delegate():
    yield from generate()


def decorate(function):
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper


@decorate
def decorated():
    both()


class Shape:
    def __init__(self):
        both()

    def __lt__(self, other):
        both()
        return True

    @property
    def area(self):
        both()
        return 1

    @staticmethod
    def static():
        both()

    def __enter__(self):
        both()

    def __exit__(self, *exc):
        both()

    def __getattr__(self, name):
        both()
        return name


def replaced(match):
    both()
    return "x"


def caught():
    try:
        raise ValueError
    except ValueError:
        both()
    finally:
        both()


def функция():
    both()


async def awaits(n):
    if n > 0:
        await awaits(n - 1)
    both()


try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters


def enters(another):
    e = begin(); interpreters.run_string(another, "inside()"); end(e)
    e["stack"][:0] = [["inside", "", 0], ["<module>", "", 0]]
    e["innermost"] = "inside"


def child():
    time.sleep(0.003)
    os._exit(0)


def forks():
    pid = os.fork()
    if pid == 0:
        child()
    os.waitpid(pid, 0)
    children.append(pid)


def main():
    shape = Shape()
    sorted([shape, shape])
    shape.area
    shape.static()
    shape.missing
    with shape:
        both()
    list(generate())
    list(delegate())
    max(generate())
    decorated()
    re.sub("a", replaced, "aa")
    list(map(lambda x: both(), [1]))
    [both() for _ in range(2)]
    sorted([1, 2], key=lambda x: both() or x)
    caught()
    функция()
    recurse(20, both)
    recurse(300, both)
    recurse(1200, both)
    exec(compile("\n\ndef inner():\n    both()\ninner()", "<made>", "exec"), globals())
    eval("both()")
    try:
        awaits(3).send(None)
    except StopIteration:
        pass


begun = time.monotonic()
while time.monotonic() - begun < 0.4:  # until the recorder knows the interpreter
    both()
del log[:]
thread = threading.Thread(target=main)
thread.start()
main()
thread.join()
for _ in range(20):
    forks()
another = interpreters.create()
interpreters.run_string(another, "import time\ndef inside():\n    time.sleep(0.003)\n")
for _ in range(5):
    enters(another)
json.dump({"stays": log, "children": children}, sys.stdout)
