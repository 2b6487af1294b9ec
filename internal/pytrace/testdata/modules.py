# For each line on standard input makes a known number of calls of functions of two modules, which call each other, until a line is empty.
import select, sys

def leaf():
    pass

library = {"leaf": leaf}
exec(compile("""
def helper():
    leaf()
    for n in generate():
        leaf()
    try:
        fail()
    except ValueError:
        pass

def generate():
    yield 1
    try:
        yield 2
    except KeyError:
        yield 3

def fail():
    raise ValueError
""", "/srv/site-packages/liba/mod.py", "exec"), library)

def outer():
    library["helper"]()
    g = library["generate"]()
    next(g)
    next(g)
    g.throw(KeyError())
    g.close()

def main(rounds):
    for _ in range(rounds):
        outer()

def tick():
    pass

print("ready", flush=True)
while True:
    while not select.select([sys.stdin], [], [], 0.001)[0]:
        tick()
    sys.stdin.readline()
    if len(sys.argv) > 2:
        break
    main(int(sys.argv[1]))
    print("done", flush=True)
