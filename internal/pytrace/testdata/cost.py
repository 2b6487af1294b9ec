# Prints how long a call of an empty function takes in a loop, ns: cost.py plain|cprofile|viztracer, or
# cost.py wait FILE, which waits until there is such a file.
import os, sys, time

def empty():
    pass

def loop(n):
    for _ in range(n):
        empty()

def fastest(f, n=200000):
    best = float("inf")
    for _ in range(10):
        before = time.perf_counter()
        f(n)
        best = min(best, time.perf_counter() - before)
    return best / n * 1e9

kind = sys.argv[1]
if kind == "cprofile":
    import cProfile
    profile = cProfile.Profile()
    profile.enable()
elif kind == "viztracer":
    import viztracer
    tracer = viztracer.VizTracer(tracer_entries=5000000, verbose=0)
    tracer.start()
elif kind == "wait":
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.01)
ns = fastest(loop)
if kind == "cprofile":
    profile.disable()
elif kind == "viztracer":
    tracer.stop()
print("%s %.0f ns" % (kind, ns))
