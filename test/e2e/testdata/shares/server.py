"""A server with many connections, three kinds of requests, and one function that computes for all of them, in a task of its own. Prints what each kind took by the thread's clock."""
import asyncio
import json
import sys
import threading
import time

took = {"alpha": 0, "beta": 0, "gamma": 0}


def spin(until):
    n = 0
    while time.thread_time_ns() < until:
        n += sum(range(20))
    return n


async def work(kind, ns):
    await asyncio.sleep(0)  # others run in between
    begun = time.thread_time_ns()
    spin(begun + ns)
    took[kind] += time.thread_time_ns() - begun


async def alpha():
    await asyncio.create_task(work("alpha", 1_885_000))


async def beta():
    await asyncio.gather(work("beta", 700_000), work("beta", 431_000))


async def gamma():
    async with asyncio.TaskGroup() as group:
        group.create_task(work("gamma", 754_000), name="gamma")


async def serve(reader, writer):
    while line := await reader.readline():
        await {"alpha": alpha, "beta": beta, "gamma": gamma}[line.decode().strip()]()
        writer.write(line)
        await writer.drain()
    writer.close()


async def ask(port, ns):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while sum(took.values()) < ns:
        for kind in took:
            writer.write(kind.encode() + b"\n")
            await reader.readline()
    writer.close()


async def main(seconds):
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await asyncio.gather(*(ask(port, seconds * 1e9) for _ in range(100)))


def counted():
    asyncio.run(main(float(sys.argv[1])))
    json.dump({"tid": threading.get_native_id(), "took": took}, sys.stdout)


# What runs before the recorder knows the interpreter does not count.
asyncio.run(main(0.5))
took.update(dict.fromkeys(took, 0))
thread = threading.Thread(target=counted)
thread.start()
thread.join()
