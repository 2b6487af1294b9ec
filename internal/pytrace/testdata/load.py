# Is busy in many ways until a line comes on standard input, and then prints what was wrong, or "right" with the number of signals it has got.
import os, select, signal, sys, threading, time

problems = []
stopping = False

def check(what, ok):
    if not ok and len(problems) < 10:
        problems.append(what)

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def squares(n):
    for i in range(n):
        yield i * i

def thrower(n):
    if n == 0:
        raise KeyError("bottom")
    thrower(n - 1)

def compute():
    while not stopping:
        check("fib", fib(10) == 55)
        check("squares", sum(squares(20)) == 2470)
        try:
            thrower(10)
            check("exception", False)
        except KeyError as e:
            check("exception", e.args == ("bottom",))

def sleep():
    while not stopping:
        before = time.monotonic()
        time.sleep(0.01)
        check("sleep was cut short", time.monotonic() - before >= 0.0099)

def poll():
    r, w = os.pipe()
    while not stopping:
        before = time.monotonic()
        got = select.select([r], [], [], 0.01)[0]
        check("select", got == [] and time.monotonic() - before >= 0.0099)

def pipe():
    r, w = os.pipe()
    def write():
        while not stopping:
            os.write(w, b"x" * 100)
        os.close(w)
    writer = threading.Thread(target=write)
    writer.start()
    while True:
        got = os.read(r, 1000)
        check("pipe", len(got) % 100 == 0 and got == b"x" * len(got))
        if not got:
            break
    writer.join()

def short():
    while not stopping:
        t = threading.Thread(target=fib, args=(5,))
        t.start()
        t.join()

def child():
    while not stopping:
        pid = os.fork()
        if pid == 0:
            code = 7 if fib(12) == 144 else 1
            os._exit(code)
        status = os.waitpid(pid, 0)[1]
        check("child ended with %#x" % status, status == 7 << 8)
        time.sleep(0.02)

handled = 0
def handler(signum, frame):
    global handled
    handled += 1

def main():
    global stopping
    signals_r, signals_w = os.pipe()
    os.set_blocking(signals_w, False)
    count = 0
    signal.signal(signal.SIGRTMIN, handler)
    signal.set_wakeup_fd(signals_w, warn_on_full_buffer=True)
    threads = [threading.Thread(target=f) for f in (compute, sleep, poll, pipe) + tuple(globals()[n] for n in sys.argv[1:])]
    for t in threads:
        t.start()
    print("ready", flush=True)
    poller = select.poll()
    poller.register(0, select.POLLIN)
    poller.register(signals_r, select.POLLIN)
    end = False
    while not end:
        fib(3)
        for fd, _ in poller.poll(50):
            if fd == 0:
                sys.stdin.readline()
                end = True
            else:
                count += len(os.read(signals_r, 65536))
    stopping = True
    for t in threads:
        t.join()
    os.set_blocking(signals_r, False)
    try:
        count += len(os.read(signals_r, 65536))
    except BlockingIOError:
        pass
    check("no handler of Python ran", handled > 0 or count == 0)
    print(problems if problems else "right", count, flush=True)

main()
