#!/usr/bin/env python3
"""Writes a small capture to standard output: made from FORMAT.md and wprof.proto alone, with the standard library.

Two threads on one CPU. ms is 1,000,000 ns from the opening of the window, which is open for 10 ms:
  first (tid 10) runs from before the opening to 2 ms, and from 4 ms to 6 ms
  second (tid 20) is asleep since 1 ms before the opening, woken at 1 ms, runs from 2 ms to 4 ms; after the loss from
  7 ms to 8 ms, a state at 9 ms says that it has been running since 8.5 ms
"""
import struct, sys

MS, OPEN = 1_000_000, 5_000_000_000
TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    TABLE.append(n)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def uvarint(v):
    out, v = bytearray(), v & 2**64 - 1
    while v > 0x7F:
        out.append(v & 0x7F | 0x80)
        v >>= 7
    return bytes(out) + bytes([v])


def zigzag(v):
    return uvarint(v << 1 ^ v >> 63)


def message(*fields):
    """A Protocol Buffers message of (number, value): an int, bytes, or a list of ints that are packed."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += uvarint(number << 3) + uvarint(value)
        else:
            value = b"".join(map(uvarint, value)) if isinstance(value, list) else value
            out += uvarint(number << 3 | 2) + uvarint(len(value)) + value
    return out


class Section:
    def __init__(self, session_id, epoch=0):
        self.number = (session_id + (session_id >> 32) + epoch) % 2**32
        self.out, self.index = b"", []

    def block(self, kind, payload, flags=0, first=0, last=0, earliest=0, events=0):
        head = struct.pack("<8sBBHIIIqqqIIIII", b"\x89WPR\r\n\x1a\n", kind, flags, 0, self.number, len(self.index), 0,
                           first, last, earliest, len(payload), len(payload), events, crc32c(payload), 0)
        self.index.append((kind, flags, len(self.out), len(payload), len(payload), first, last, earliest, events))
        self.out += head + struct.pack("<I", crc32c(head)) + payload


class Events:
    """The two columns of an event block."""

    def __init__(self):
        self.times, self.records, self.counts = b"", b"", {}
        self.first = self.last = self.earliest = None
        self.left = [0] * 1024

    def add(self, kind, at, flags, cpu, task, fields=(), times=(), leaves=None):
        """times are values of type time; leaves is the time, from leaving, of the thread that a switch brings back."""
        at += OPEN
        if self.first is None:
            self.first = self.last = self.earliest = at
        stored = uvarint(at - self.last)
        for value in times:
            stored += zigzag(at - OPEN - value)
        if leaves is not None:
            stored += zigzag((self.left[fields[0][0] % 1024] or at) - OPEN - leaves)
        record = bytes([kind, 1 + len(times) + (leaves is not None)]) + uvarint(flags) + uvarint(cpu + 1) + uvarint(task)
        for value, signed in fields:
            record += zigzag(value) if signed else uvarint(value)
        record = uvarint(len(record)) + record
        if kind == 1:
            self.left[task % 1024] = at
        self.earliest = min([self.earliest] + [OPEN + t for t in (*times, *([] if leaves is None else [leaves]))])
        self.last, self.times, self.records = at, self.times + stored, self.records + record
        n, size = self.counts.get(kind, (0, 0))
        self.counts[kind] = n + 1, size + len(stored) + len(record)

    def payload(self):
        return struct.pack("<I", len(self.times)) + self.times + self.records


def main():
    plain, signed = lambda v: (v, False), lambda v: (v, True)
    session = uvarint(1 << 3 | 1) + struct.pack("<Q", 0x1234567890ABCDEF)
    session += message((2, b"stranger"), (3, b"a-boot"), (7, message((1, 0))), (9, OPEN), (10, OPEN + 10 * MS), (11, b"write.py"))
    s = Section(0x1234567890ABCDEF)
    s.block(1, struct.pack("<HHQ", 1, 3, 0) + session)

    idle, first, second = 1, 2, 3
    definitions = message(
        (1, message((1, idle), (4, b"swapper"), (5, b"swapper"), (8, 2))),
        (1, message((1, first), (2, 10), (3, 10), (4, b"first"), (5, b"first"), (7, 1000))),
        (1, message((1, second), (2, 20), (3, 20), (4, b"second"), (5, b"second"), (7, 2000))),
        (2, message((1, 1), (2, b"/usr/bin/second"), (3, b"\xab\xcd"), (8, 1))),
        (3, message((1, 1), (2, 1), (3, 0x100), (4, 0x10), (5, message((1, b"waits"))), (6, 1))),
        (4, message((1, 1), (2, [1]))))
    s.block(2, definitions)

    e = Events()
    runs, asleep, preempted, has_since = 0, 1, 0x100, 0x10
    e.add(9, 0, 1 | has_since, 0, first, [signed(120)], [-MS // 2])
    e.add(10, 0, 1 | has_since, 0, second, [plain(asleep), signed(120)], [-MS])
    e.add(2, MS, 3, 0, first, [plain(second), signed(120), plain(0)])
    switch = lambda to, state, *more: [plain(to), plain(state), signed(120), signed(120), *more]
    e.add(1, 2 * MS, 3 | has_since | 0x40, 0, first, switch(second, asleep, plain(asleep), plain(1)), leaves=-MS)
    e.add(2, 3 * MS, 3, 0, second, [plain(first), signed(120), plain(0)])
    e.add(1, 4 * MS, 3 | has_since, 0, second, switch(first, asleep, plain(asleep)), leaves=2 * MS)
    e.add(1, 6 * MS, 3, 0, first, switch(idle, preempted))
    e.add(11, 8 * MS, 1, 0, 0, [plain(5), plain(1), plain(0)], [7 * MS])
    e.add(9, 9 * MS, 1 | has_since, 0, second, [signed(120)], [8 * MS + MS // 2])
    payload = e.payload()
    s.block(3, payload, 2, e.first, e.last, e.earliest, sum(n for n, _ in e.counts.values()))

    at_index = len(s.out)
    s.block(4, b"".join(message((1, message(*enumerate(entry, 1)))) for entry in s.index))
    end = b"".join(message((1, message((1, kind), (2, n), (3, size)))) for kind, (n, size) in e.counts.items())
    end += message((2, len(payload)), (3, len(payload)), (9, OPEN + 10 * MS), (10, 1), (11, 6))
    end += message((4, message((1, 10), (2, b"first"), (3, 4 * MS), (4, 1000))), (4, message((1, 20), (2, b"second"), (3, 7 * MS // 2), (4, 2000))))
    end += message((5, message((1, 0), (3, 1), (4, 5))))
    at_end, size = len(s.out), len(s.out) + 72 + len(end) + 40
    footer = struct.pack("<8sQQQI", b"\x89WPE\r\n\x1a\n", size, size - at_index, size - at_end, 0)
    s.block(5, end + footer + struct.pack("<I", crc32c(footer)))
    sys.stdout.buffer.write(s.out)


main()
