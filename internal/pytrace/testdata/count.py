# Makes a known number of calls of each function, in two threads, after a line on standard input.
import sys, threading

def leaf(n):
    return n

def recurse(n):
    return recurse(n - 1) if n else 0

def generate(n):
    for i in range(n):
        yield i

def guarded():
    try:
        yield 1
    finally:
        pass

async def coroutine(n):
    return n

def fail():
    raise ValueError

class Thing:
    @property
    def value(self):
        return 1
    def method(self):
        return self.value

def work(rounds):
    thing = Thing()
    for i in range(rounds):
        leaf(i)
        recurse(3)
        for _ in generate(2):
            pass
        try:
            fail()
        except ValueError:
            pass
        thing.method()
        list(map(lambda n: n, (1, 2)))
        c = coroutine(i)
        try:
            c.send(None)
        except StopIteration:
            pass
        broken = guarded()
        next(broken)
        broken.close()

def main():
    ready = threading.Event()
    def wait():
        ready.wait()
        work(int(sys.argv[1]))
    other = threading.Thread(target=wait)
    other.start()
    print("ready", flush=True)
    sys.stdin.readline()
    ready.set()
    work(int(sys.argv[1]))
    other.join()
    print("done", flush=True)
    sys.stdin.readline()

# The main thread runs code of Python while the agent starts.
import select
while not select.select([0], [], [], 0.001)[0]:
    if not globals().get("said"):
        said = True
        print("ready", flush=True)
sys.stdin.readline()
main()
