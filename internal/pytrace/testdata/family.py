# Makes known numbers of calls, in itself from its first line on, in a program that it executes by a shell, and in a child that it forks: each process
# calls a function of its own. It needs no other files.
import os, subprocess, sys, time

def first(n):
    return n

for i in range(1000):
    first(i)

def executed(n):
    return n

def forked(n):
    return n

def wait(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.001)

def main():
    if sys.argv[1:] == ["again"]:
        wait(1)
        for i in range(1000):
            executed(i)
        print(os.getpid(), flush=True)
        return
    again = subprocess.run(["sh", "-c", "true; exec \"$0\" \"$1\" again", sys.executable, __file__], stdout=subprocess.PIPE).stdout
    child = os.fork()
    if child == 0:
        end = time.monotonic() + 1
        while time.monotonic() < end: # without a call of a function of Python, by which the agent of the parent would remove itself
            time.sleep(0.001)
        for i in range(1000):
            forked(i)
        os._exit(0)
    os.waitpid(child, 0)
    print(os.getpid(), int(again), child, flush=True)

main()
