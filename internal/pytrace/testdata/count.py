# Counts its own calls: f by two threads, a generator, exceptions and recursion. A line on standard input lets it begin, another one ends it.
import sys, threading

def leaf(n):
    return n + 1

def recurse(n):
    return recurse(n - 1) if n else 0

def generate(n):
    for i in range(n):
        yield i

def fail():
    raise ValueError

def work(rounds):
    for i in range(rounds):
        leaf(i)
        recurse(3)
        for _ in generate(2):
            pass
        try:
            fail()
        except ValueError:
            pass

def main():
    rounds = int(sys.argv[1])
    print("ready", flush=True)
    while not sys.stdin.readline():
        pass
    other = threading.Thread(target=work, args=(rounds,))
    other.start()
    work(rounds)
    other.join()
    print("done", flush=True)
    sys.stdin.readline()

def spin():
    while not begun:
        leaf(0)

begun = False
main()
