"""Waits and computes in tasks of asyncio, and prints the stack of each, with the tasks that await it as asyncio itself has them. With blocks, one task waits for ever."""
import asyncio
import json
import sys
import threading
import time

log = []


def entry(frame, awaits=False):
    return [frame.f_code.co_qualname, frame.f_code.co_filename, frame.f_lineno, awaits]


def mark(text):
    return ["[" + text + "]", "", 0, True]


def awaiting(graph):
    """Returns the frames of what awaits a task, innermost first."""
    if len(graph.awaited_by) > 1:
        return [mark("several tasks await")]
    for by in graph.awaited_by:
        frames = [entry(f.frame, True) for f in by.call_stack]
        if frames:
            frames.append(mark(called("awaiting task", by.future)))
        return frames + awaiting(by)
    return []


def called(text, task):
    name = task.get_name()
    return text if name.startswith("Task-") else text + " " + name


def names(frame):
    task = asyncio.current_task() if asyncio._get_running_loop() else None
    stack = []
    while frame:
        stack.append(entry(frame))
        if task and frame is task.get_coro().cr_frame:
            outer = awaiting(asyncio.capture_call_graph(task))
            if outer:
                stack += [mark("running task")] + outer
        frame = frame.f_back
    return stack


def begin():
    one = {"tid": threading.get_native_id(), "stack": names(sys._getframe(1))}
    log.append(one)
    one["from"] = time.monotonic_ns()
    return one


def end(one):
    one["to"] = time.monotonic_ns()


def waits():
    e = begin(); time.sleep(0.003); end(e)


def computes():
    e = begin(); sum(range(50000)); end(e)


def both():
    waits()
    computes()


async def leaf():
    both()
    await asyncio.sleep(0)
    both()


async def child(n=2):
    if n > 0:
        await child(n - 1)
        return
    await asyncio.sleep(0)
    await leaf()


class Awaitable:
    def __init__(self, task):
        self.task = task

    def __await__(self):
        return self.task.__await__()


class Resource:
    async def __aenter__(self):
        await asyncio.create_task(child())

    async def __aexit__(self, *exc):
        await asyncio.gather(child(), leaf())


async def numbers():
    for i in range(2):
        await asyncio.create_task(leaf())
        yield i


async def nested(n):
    if n > 0:
        await asyncio.create_task(nested(n - 1))
    else:
        await child()


async def grouped():
    async with asyncio.TaskGroup() as group:
        group.create_task(child())
        group.create_task(nested(2), name="the second")


async def timed():
    async with asyncio.timeout(60):
        await asyncio.create_task(leaf())


async def waiter(task):
    await asyncio.wait([task])


async def shared():
    task = asyncio.create_task(child())
    await asyncio.gather(waiter(task), waiter(task), asyncio.shield(task))


async def one_left():
    """A set of those that await a task has one of two, or of a hundred."""
    for n in 1, 100:
        task = asyncio.create_task(late())
        others = [asyncio.create_task(waiter(task)) for _ in range(n)]
        await asyncio.sleep(0)
        stays = asyncio.create_task(waiter(task))
        await asyncio.sleep(0)
        for other in others:
            other.cancel()
        await stays


async def late():
    await asyncio.sleep(0.01)
    await leaf()


async def deep(n):
    await (asyncio.create_task(deep(n - 1)) if n else leaf())


def called_back(done):
    both()
    done.set()


async def calls_back():
    done = asyncio.Event()
    asyncio.get_running_loop().call_soon(called_back, done)
    await done.wait()


async def in_thread():
    await asyncio.to_thread(both)


async def main():
    both()
    await leaf()
    await asyncio.create_task(child())
    await asyncio.create_task(child(), name="named")
    await asyncio.create_task(nested(3), name="Имя")
    await asyncio.gather(child(), leaf(), nested(1))
    await grouped()
    await asyncio.wait_for(child(), 60)
    await asyncio.wait_for(asyncio.create_task(child()), 60)
    await timed()
    await asyncio.wait([asyncio.create_task(leaf())])
    for each in asyncio.as_completed([child(), leaf()]):
        await each
    await asyncio.shield(child())
    await Awaitable(asyncio.create_task(child()))
    async with Resource():
        both()
    async for _ in numbers():
        both()
    await shared()
    await one_left()
    await deep(60)
    await calls_back()
    await in_thread()
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    await asyncio.gather(child(), leaf(), nested(3))


def say_when_asleep(stack):
    tid = threading.get_native_id()

    def say():
        while not open(f"/proc/self/task/{tid}/syscall").read().startswith("230 "):  # clock_nanosleep, not a wait for the global lock
            time.sleep(0.001)
        print(json.dumps({"stays": [{"tid": tid, "stack": stack}]}), flush=True)
    threading.Thread(target=say).start()


async def blocks(n):
    if n > 0:
        await asyncio.create_task(blocks(n - 1), name="block")
    say_when_asleep(names(sys._getframe())); time.sleep(1000)


begun = time.monotonic()
while time.monotonic() - begun < 0.5:  # until the recorder knows the interpreter and its module
    asyncio.run(child())
del log[:]
if len(sys.argv) > 1:
    asyncio.run(blocks(3))
thread = threading.Thread(target=asyncio.run, args=(main(),))
thread.start()
asyncio.run(main())
thread.join()
asyncio.Task = asyncio.tasks.Task = asyncio.tasks._PyTask  # one without a description
asyncio.run(child())
json.dump({"stays": log, "children": []}, sys.stdout)
