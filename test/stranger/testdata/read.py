#!/usr/bin/env python3
"""Reads a capture by format/FORMAT.md and writes its events as wprof-info --dump does, then what it counted.

Made from FORMAT.md and wprof.proto alone, with Python's standard library and the zstd program. The tables of kinds,
fields, states and causes are read from the page itself, which so is complete enough to read a stream.
usage: read.py FORMAT.md CAPTURE
"""
import re, struct, subprocess, sys

CRC = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    CRC.append(n)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


class Page:
    """What the tables of FORMAT.md say."""

    def __init__(self, text):
        part = lambda name: text.split(f"<!-- begin {name} -->")[1].split(f"<!-- end {name} -->")[0]
        rows = lambda t: [[c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in t.splitlines() if re.match(r"\| (\d|[a-z])", line)]
        self.states = [(int(r[0], 16), r[1].split(",")[0]) for r in rows(part("states"))]
        self.causes = {int(r[0]): r[1] for r in rows(part("causes"))}
        self.kinds = {}
        for r in rows(part("kinds")):
            self.kinds[int(r[0])] = dict(name=r[1], own=r[3] != "none", two=r[4] != "–", fields=[], flags=[])
        for section in part("fields").split("#### ")[1:]:
            kind = self.kinds[int(re.match(r"\w+ \((\d+)\)", section)[1])]
            for name, of, present, *_ in rows(section):
                bit = re.match(r"with flag 0x(\w+)", present)
                kind["fields"].append((name, of, int(bit[1], 16) if bit else 0))
            kind["flags"] = [(int(bit, 16), name) for bit, name in re.findall(r"^Flag 0x(\w+), (\w+):", section, re.M)]

    def state(self, bits):
        if bits == 0:
            return "R"
        letters = "".join(name for bit, name in sorted(self.states, key=lambda s: "Kiq+".find(s[1])) if bit and bits & bit)
        return letters.replace("R+q", "Rq+")  # the + is the last


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def more(self):
        return self.at < len(self.data)

    def uvarint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def take(self, n):
        if self.at + n > len(self.data):
            raise ValueError("cut off")
        self.at += n
        return self.data[self.at - n:self.at]


def unzigzag(u):
    return u >> 1 ^ -(u & 1)


def signed(u):
    u &= 2**64 - 1
    return u - 2**64 if u >> 63 else u


def message(data):
    """The fields of a Protocol Buffers message as (number, value), in the order of their bytes."""
    b, fields = Bytes(data), []
    while b.more():
        tag = b.uvarint()
        if tag & 7 == 0:
            fields.append((tag >> 3, b.uvarint()))
        elif tag & 7 == 2:
            fields.append((tag >> 3, b.take(b.uvarint())))
        else:
            fields.append((tag >> 3, int.from_bytes(b.take({1: 8, 5: 4}[tag & 7]), "little")))
    return fields


def blocks(data):
    """Every block as (offset, header, payload)."""
    at = 0
    while at < len(data):
        head = data[at:at + 72]
        (marker, kind, flags, _, section, sequence, _, first, last, earliest, stored, raw, events, payload_crc, _, crc) = struct.unpack("<8sBBHIIIqqqIIIIII", head)
        assert marker == b"\x89WPR\r\n\x1a\n" and crc == crc32c(head[:68]), f"no header at {at}"
        payload = data[at + 72:at + 72 + stored]
        assert len(payload) == stored and crc32c(payload) == payload_crc, f"wrong payload at {at}"
        if flags & 1:
            payload = subprocess.run(["zstd", "-dcq"], input=payload, stdout=subprocess.PIPE, check=True).stdout
        assert len(payload) == raw
        yield at, dict(type=kind, flags=flags, section=section, sequence=sequence, first=first, last=last, earliest=earliest, stored=stored, raw=raw, events=events), payload
        at += 72 + stored


def events_of(page, head, payload):
    size, = struct.unpack("<I", payload[:4])
    times, records = Bytes(payload[4:4 + size]), Bytes(payload[4 + size:])
    now, left, earliest = head["first"], [0] * 1024, head["first"]
    for _ in range(head["events"]):
        record = Bytes(records.take(records.uvarint()))
        number, count = record.take(2)
        flags, cpu, task = record.uvarint(), record.uvarint() - 1, record.uvarint()
        now = signed(now + times.uvarint())
        rest = [unzigzag(times.uvarint()) for _ in range(count - 1)]
        assert head["first"] <= now <= head["last"]
        event = dict(kind=number, time=now, flags=flags, cpu=cpu, task=task, args=[], own=now)
        if flags & 8:
            event["own"] = signed(now - rest.pop(0))
        kind = page.kinds.get(number)
        for name, of, bit in kind["fields"] if kind else []:
            if bit and not flags & bit:
                continue
            if of.startswith("time"):
                base = now
                if of != "time":
                    base = left[event["args"][0][2] % 1024] or now
                value = signed(base - rest.pop(0)) if rest else now
            elif not record.more():
                value = b"" if of == "bytes" else 0
            elif of == "bytes":
                value = record.take(record.uvarint())
            else:
                value = record.uvarint()
                if of == "sint":
                    value = unzigzag(value)
            event["args"].append((name, of, value))
        if kind and kind["name"] == "switch":
            left[task % 1024] = now
        earliest = min([earliest, event["own"]] + [value for _, of, value in event["args"] if of.startswith("time")])
        yield event
    assert not times.more() and now == head["last"] and earliest == head["earliest"], "the header's times"


def line(page, event, opened):
    def clock(t):
        sign, t = ("-", opened - t) if t < opened else ("+", t - opened)
        return f"{sign}{t // 10**9}.{t % 10**9:09d}"

    def value(of, v):
        if of.startswith("time"):
            return clock(v)
        if of == "state":
            return page.state(v)
        if of == "cause":
            return page.causes[v]
        if of == "kind":
            return page.kinds[v]["name"] if v else "any"
        return '"' + v.decode() + '"' if of == "bytes" else str(v)

    kind, flags = page.kinds[event["kind"]], event["flags"]
    words = [clock(event["time"]), "cpu" + ("*" if event["cpu"] < 0 else str(event["cpu"])), kind["name"]]
    if kind["own"]:
        words.append(str(event["task"]))
    if flags & 8:
        words.append("own=" + clock(event["own"]))
    words += [f"{name}={value(of, v)}" for name, of, v in event["args"]]
    words += ["open"] * bool(flags & 4) + [name for bit, name in kind["flags"] if flags & bit]
    words += ["!subject"] * (not flags & 1) + ["!object"] * (kind["two"] and not flags & 2)
    return "  " + " ".join(words)


def main():
    page, counts, index, opened = Page(open(sys.argv[1], encoding="utf-8").read()), {}, [], 0
    defined = known = start = 0
    tasks = set()
    for at, head, payload in blocks(open(sys.argv[2], "rb").read()):
        if head["type"] == 1:
            major, _, features = struct.unpack("<HHQ", payload[:12])
            assert major == 1 and features == 0
            session = dict(message(payload[12:]))
            start, index, counts, defined, tasks = at, [], {}, 0, set()
            opened = opened or signed(session.get(9, 0))
        assert head["sequence"] == len(index)
        index.append((head["type"], head["flags"], at - start, head["stored"], head["raw"], head["first"], head["last"], head["earliest"], head["events"]))
        if head["type"] == 2:
            members = message(payload)
            defined += sum(number < 8 for number, _ in members)  # End.definitions leaves out what later versions added
            tasks |= {dict(message(m))[1] for number, m in members if number == 1}
        elif head["type"] == 3:
            for event in events_of(page, head, payload):
                counts[event["kind"]] = counts.get(event["kind"], 0) + 1
                assert event["task"] in tasks or event["task"] == 0
                print(line(page, event, opened))
        elif head["type"] == 4:
            listed = [dict(message(m)) for _, m in message(payload)]
            assert [tuple(signed(m.get(n, 0)) for n in range(1, 10)) for m in listed] == index[:-1], "the index"
        elif head["type"] == 5:
            marker, section, at_index, at_end, _, crc = struct.unpack("<8sQQQII", payload[-40:])
            assert marker == b"\x89WPE\r\n\x1a\n" and crc == crc32c(payload[-40:-4]), "the footer"
            end = at + 72 + len(payload)
            assert end - section == start and end - at_end == at
            assert not at_index or index[-2][0] == 4 and end - at_index == start + index[-2][2]
            sums = message(payload[:-40])
            kinds = [dict(message(m)) for number, m in sums if number == 1]
            assert {k[1]: k[2] for k in kinds} == counts, "the end block counts other events"
            assert dict(sums).get(11, 0) == defined, "the end block counts other definitions"
    for kind in sorted(counts):
        print(f"{page.kinds[kind]['name']}: {counts[kind]}")


main()
