"""Runs a task whose memory says what is not true of what awaits it. CPython 3.14 and 3.15 with the global lock, on x86-64."""
import asyncio
import ctypes
import random
import time

# Where it is in a task, a coroutine, and a coroutine's frame: .AsyncioDebug and _Py_DebugOffsets.
AWAITED_BY, IS_TASK, IS_SET, COROUTINE, NAME = 96, 108, 109, 128, 136
TYPE, STATE, STACK_TOP = 8, 67, 72 + 64
WORDS = 64

areas = [(ctypes.c_uint64 * WORDS)() for _ in range(128)]


def word(at):
    return ctypes.c_uint64.from_address(at)


def byte(at):
    return ctypes.c_uint8.from_address(at)


def address(area):
    return ctypes.addressof(area)


def stay():
    time.sleep(0.0003)
    begun = time.monotonic()
    while time.monotonic() - begun < 0.0015:
        pass


def says(at, by, is_set=0):
    """Has a task or future say that it is awaited by another one."""
    word(at + AWAITED_BY).value = by
    byte(at + IS_SET).value = is_set


def is_task(at, coroutine):
    byte(at + IS_TASK).value = 1
    word(at + COROUTINE).value = coroutine
    word(at + NAME).value = 0


def circle(me, other):
    """Two tasks await each other."""
    says(me, other)
    says(other, address(areas[0]))
    is_task(address(areas[0]), word(other + COROUTINE).value)
    says(address(areas[0]), other)
    stay()


def chain(me, other):
    """A hundred tasks await each other."""
    at = me
    for area in areas[:100]:
        is_task(address(area), word(other + COROUTINE).value)
        says(at, address(area))
        at = address(area)
    says(at, 0)
    stay()


def coil(me, other):
    """A coroutine awaits itself."""
    says(me, other)
    real, fake = word(other + COROUTINE).value, address(areas[0])
    ctypes.memmove(fake, real, 8 * 40)
    values = areas[1]
    values[0] = values[1] = fake
    word(fake + STACK_TOP).value = address(values) + 16
    word(other + COROUTINE).value = fake
    stay()
    word(other + COROUTINE).value = real


def wide(me, other):
    """A set has no end, and its one entry is not where it could be found."""
    fake = areas[0]
    fake[3], fake[4], fake[5] = 1, random.choice([1 << 40, 2**64 - 1, 1023]), address(areas[1])
    says(me, address(fake), 1)
    stay()


def nonsense(me):
    kind = random.randrange(10)
    if kind < 6:
        return address(random.choice(areas))
    return [0, random.randrange(64), random.getrandbits(32), 0xffff888000000000 + random.getrandbits(32), me][kind % 5]


def random_lies(me, other):
    coroutine = word(other + COROUTINE).value
    for area in areas:
        for i in range(WORDS):
            area[i] = nonsense(me)
        if random.randrange(4):
            is_task(address(area), random.choice([coroutine, address(random.choice(areas))]))
            word(address(area) + NAME).value = random.choice([nonsense(me), id("name"), id("Имя" * 30), id(1)])
        if random.randrange(4):
            word(address(area) + TYPE).value = word(coroutine + TYPE).value
            byte(address(area) + STATE).value = byte(coroutine + STATE).value
        byte(address(area) + IS_SET).value = random.randrange(2)
    says(me, random.choice([nonsense(me), address(areas[0]), other]), random.randrange(3) == 0)
    says(other, nonsense(me), random.randrange(2))
    stay()


async def awaits_forever():
    await asyncio.get_running_loop().create_future()


async def lies():
    task = asyncio.create_task(awaits_forever())
    await asyncio.sleep(0)
    me, other = id(asyncio.current_task()), id(task)
    said = [(at, word(at + AWAITED_BY).value, byte(at + IS_SET).value) for at in (me, other)]
    random.seed(1)
    begun = time.monotonic()
    while time.monotonic() - begun < 2.5:
        for lie in circle, chain, coil, wide, random_lies:
            lie(me, other)
            for true in said:
                says(*true)
    task.cancel()


asyncio.run(lies())
print("sound")
