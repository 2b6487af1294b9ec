# Is in the state that its argument names: another thread than the main one computes, where there is one.
import sys, threading, time

def spin():
    while True:
        sum(range(100))

def f():
    pass

state = sys.argv[1]
if state == "asleep":
    threading.Thread(target=spin, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.readline()
elif state == "profiled":
    import cProfile
    p = cProfile.Profile()
    p.enable()
    print("ready", flush=True)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        f()
elif state == "audited":
    def hook(event, args):
        if event.startswith("sys.monitoring") or event in ("compile", "exec", "import", "sys.setprofile"):
            raise RuntimeError(event)
    sys.addaudithook(hook)
    print("ready", flush=True)
    for _ in range(500):
        f()
        time.sleep(0.001)
    print("right", flush=True)
elif state == "deep":
    sys.setrecursionlimit(200)
    def deep(n):
        if n:
            return deep(n - 1)
        print("ready", flush=True)
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            time.sleep(0)
    try:
        deep(190)
    except RecursionError:
        print("too deep", flush=True)
    print("right", flush=True)
elif state in ("filtered", "thread-filtered"):
    import ctypes
    libc = ctypes.CDLL(None)
    class Filter(ctypes.Structure):
        _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]
    class Program(ctypes.Structure):
        _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.POINTER(Filter))]
    def restrict():
        one = (Filter * 1)(Filter(6, 0, 0, 0x7fff0000))
        libc.prctl(38, 1, 0, 0, 0)  # no new privileges
        if libc.prctl(22, 2, ctypes.byref(Program(1, one)), 0, 0):
            print("seccomp failed", flush=True)
        print("ready", flush=True)
        time.sleep(20)
    if state == "filtered":
        restrict()
    threading.Thread(target=restrict, daemon=True).start()
    sys.stdin.readline()
