"""Prints code objects of some modules with their tables of lines, and the line of each instruction as Python gives it."""
import dis
import inspect
import json
import sys
import textwrap
import types


def lines(code):
    size = len(code.co_code) // 2
    of = [0] * size
    if sys.version_info >= (3, 10):
        for begin, end, line in code.co_lines():
            for i in range(begin // 2, min(end // 2, size)):
                of[i] = line or 0
        return of
    starts = dict(dis.findlinestarts(code))
    line = code.co_firstlineno
    for i in range(size):
        line = starts.get(2 * i, line)
        of[i] = line
    return of


def describe(code, to):
    table = code.co_lnotab if sys.version_info < (3, 10) else code.co_linetable
    to.append({"name": code.co_name, "table": table.hex(), "first": code.co_firstlineno, "lines": lines(code)})
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            describe(constant, to)


codes = []
for module in (textwrap, dis, json, types):
    describe(compile(inspect.getsource(module), module.__name__, "exec"), codes)
json.dump({"minor": sys.version_info[1], "codes": codes}, sys.stdout)
