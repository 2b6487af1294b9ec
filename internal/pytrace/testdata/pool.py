# After a line on standard input it starts as many threads as its argument says, which make 1,000 calls each when all have begun, and live on.
import select, sys, threading, time

def leaf():
    pass

def tick():
    time.sleep(0.01)

def work():
    begin.wait()
    for _ in range(1000):
        leaf()
    done.release()
    end.wait()

begin, end, done = threading.Event(), threading.Event(), threading.Semaphore(0)
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0.002)[0]:
    pass
sys.stdin.readline()
threads = [threading.Thread(target=work) for _ in range(int(sys.argv[1]))]
for t in threads:
    t.start()
    tick()
begin.set()
for _ in threads:
    done.acquire()
print("done", flush=True)
sys.stdin.readline()
end.set()
