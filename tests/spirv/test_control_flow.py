"""Structured control flow: random programs, read from SPIR-V and interpreted, against the same program in Python."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy
import pytest

from pyaco import spirv
from pyaco._core.nir import validate
from pyaco.nir import interpreter
from pyaco.nir.text import print_shader

LANES = 32
MASK = 0xFFFFFFFF

pytestmark = pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="needs glslangValidator")

# A statement is a tuple: ("mix", k), ("if", condition, then, else), ("for", count, body), ("while", condition, body),
# ("do", condition, body), ("switch", cases), ("break",), ("continue",), ("return",), ("call", f). Conditions are
# (modulus, remainder) of the state. Every loop has its own counter, which bounds it.


Statement = tuple[Any, ...]


class Generator:
    """Makes a random program as GLSL and as a tree that Python runs."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.counters = 0

    def condition(self) -> tuple[int, int]:
        modulus = self.random.choice((2, 3, 4, 5))
        return modulus, self.random.randrange(modulus)

    def block(self, depth: int, loops: int, switches: int, calls: bool) -> list[Statement]:
        return [self.statement(depth, loops, switches, calls) for _ in range(self.random.randrange(1, 4))]

    def switch(self, labels: list[int], modulus: int, depth: int, loops: int, switches: int, calls: bool) -> Statement:
        cases = []
        for label in [*labels, *(["default"] if self.random.random() < 0.7 else [])]:
            body = self.block(depth - 1, loops, switches + 1, calls) if self.random.random() < 0.8 else []
            cases.append((label, body, self.random.random() < 0.6))
        self.random.shuffle(cases)
        return ("switch", modulus, cases)

    def switch_of_many(self) -> list[Statement]:
        """A switch of over 64 cases, twice in a loop and once behind it."""
        labels = self.random.sample(range(140), self.random.randrange(70, 130))
        self.counters += 1
        loop = ("for", self.counters, 2, self.condition(), [self.switch(labels, 150, 2, 1, 0, True)])
        return [loop, *self.block(1, 0, 0, True), self.switch(labels, 150, 1, 0, 0, True)]

    def statement(self, depth: int, loops: int, switches: int, calls: bool) -> Statement:
        kinds = ["mix", "mix"]
        if depth > 0:
            kinds += ["if", "if", "if", "for", "while", "do", "switch", "switch"]
        if loops:
            kinds += ["continue_if", "break_if"]
        elif switches:
            kinds += ["break_if"]
        if calls:
            kinds += ["call"]
        kinds.append("return_if")
        kind = self.random.choice(kinds)
        if kind == "mix":
            return ("mix", self.random.randrange(1 << 16) | 1)
        if kind == "if":
            other = self.block(depth - 1, loops, switches, calls) if self.random.random() < 0.5 else []
            return ("if", self.condition(), self.block(depth - 1, loops, switches, calls), other)
        if kind in ("for", "while", "do"):
            self.counters += 1
            return (kind, self.counters, self.random.randrange(1, 5), self.condition(),
                    self.block(depth - 1, loops + 1, 0, calls))
        if kind == "switch":
            labels = self.random.sample(range(6), self.random.randrange(1, 5))
            return self.switch(labels, self.random.choice((3, 5, 7)), depth, loops, switches, calls)
        if kind == "call":
            return ("call", self.random.randrange(2))
        return ("if", self.condition(), [(kind.removesuffix("_if"),)], [])


def glsl(statements: list[Statement], indent: str, returns: str) -> list[str]:
    lines = []
    for s in statements:
        kind = s[0]
        if kind == "mix":
            lines.append(f"{indent}x = x * 1664525u + {s[1]}u; x ^= x >> 13;")
        elif kind == "if":
            lines.append(f"{indent}if ((x >> 3) % {s[1][0]}u == {s[1][1]}u) {{")
            lines += glsl(s[2], indent + "  ", returns)
            if s[3]:
                lines.append(f"{indent}}} else {{")
                lines += glsl(s[3], indent + "  ", returns)
            lines.append(f"{indent}}}")
        elif kind == "for":
            lines.append(f"{indent}for (uint c{s[1]} = 0u; c{s[1]} < {s[2]}u; c{s[1]}++) {{")
            lines += [*glsl(s[4], indent + "  ", returns), f"{indent}}}"]
        elif kind == "while":
            lines.append(f"{indent}uint c{s[1]} = 0u;")
            lines.append(f"{indent}while (c{s[1]}++ < {s[2]}u && x % {s[3][0]}u != {s[3][1]}u) {{")
            lines += [*glsl(s[4], indent + "  ", returns), f"{indent}}}"]
        elif kind == "do":
            lines.append(f"{indent}uint c{s[1]} = 0u;")
            lines.append(f"{indent}do {{")
            lines += glsl(s[4], indent + "  ", returns)
            lines.append(f"{indent}}} while (++c{s[1]} < {s[2]}u && x % {s[3][0]}u != {s[3][1]}u);")
        elif kind == "switch":
            lines.append(f"{indent}switch (int((x >> 5) % {s[1]}u)) {{")
            for number, (label, body, ends) in enumerate(s[2]):
                lines.append(f"{indent}default:" if label == "default" else f"{indent}case {label}:")
                lines += glsl(body, indent + "  ", returns)
                if ends or number + 1 == len(s[2]):
                    lines.append(f"{indent}  break;")
            lines.append(f"{indent}}}")
        elif kind == "call":
            lines.append(f"{indent}x += f{s[1]}(x);")
        elif kind == "return":
            lines.append(f"{indent}{returns}")
        else:
            lines.append(f"{indent}{kind};")
    return lines


class Leave(Exception):
    """Break, continue or return."""


class Model:
    """Runs a program for one lane."""

    def __init__(self, functions: list[list[Statement]], x: int) -> None:
        self.functions = functions
        self.x = x

    def holds(self, condition: tuple[int, int], shift: int) -> bool:
        return (self.x >> shift) % condition[0] == condition[1]

    def call(self, function: int) -> int:
        inner = Model(self.functions, self.x)
        try:
            inner.run(self.functions[function])
        except Leave:
            return inner.x ^ 0x55
        return inner.x

    def body(self, statements: list[Statement]) -> bool:
        """Run a loop body; True after a break."""
        try:
            self.run(statements)
        except Leave as leave:
            if leave.args[0] == "return":
                raise
            return leave.args[0] == "break"
        return False

    def switch(self, modulus: int, cases: list[Statement]) -> None:
        selector = (self.x >> 5) % modulus
        labels = [case[0] for case in cases]
        if selector in labels:
            start = labels.index(selector)
        elif "default" in labels:
            start = labels.index("default")
        else:
            return
        try:
            for _, body, ends in cases[start:]:
                self.run(body)
                if ends:
                    return
        except Leave as leave:
            if leave.args[0] != "break":
                raise

    def run(self, statements: list[Statement]) -> None:
        for s in statements:
            kind = s[0]
            if kind == "mix":
                self.x = (self.x * 1664525 + s[1]) & MASK
                self.x ^= self.x >> 13
            elif kind == "if":
                self.run(s[2] if self.holds(s[1], 3) else s[3])
            elif kind == "for":
                for _ in range(s[2]):
                    if self.body(s[4]):
                        break
            elif kind == "while":
                count = 0
                while True:
                    count += 1
                    if count > s[2] or self.holds(s[3], 0) or self.body(s[4]):
                        break
            elif kind == "do":
                count = 0
                while not self.body(s[4]):
                    count += 1
                    if count >= s[2] or self.holds(s[3], 0):
                        break
            elif kind == "switch":
                self.switch(s[1], s[2])
            elif kind == "call":
                self.x = (self.x + self.call(s[1])) & MASK
            else:
                raise Leave(kind)


def program(seed: int, many_cases: bool = False) -> tuple[str, list[list[Statement]]]:
    """GLSL and the trees of f0, f1 and main."""
    generator = Generator(seed)
    functions = [generator.block(2, 0, 0, False), generator.block(2, 0, 0, False), []]
    functions[2] = generator.switch_of_many() if many_cases else generator.block(4, 0, 0, True) + generator.block(4, 0, 0, True)
    lines = ["#version 450", f"layout(local_size_x={LANES}) in;", "layout(binding=0) buffer B { uint b[]; };"]
    for number in range(2):
        lines.append(f"uint f{number}(uint x) {{")
        lines += [*glsl(functions[number], "  ", "return x ^ 0x55u;"), "  return x;", "}"]
    lines += ["void main() {", "  uint i = gl_LocalInvocationIndex;", "  uint x = b[i];"]
    lines += [*glsl(functions[2], "  ", "{ b[i] = x ^ 0xaau; return; }"), "  b[i] = x;", "}"]
    return "\n".join(lines) + "\n", functions


def expected(functions: list[list[Statement]], values: numpy.ndarray) -> numpy.ndarray:
    result = values.copy()
    for lane, value in enumerate(values):
        model = Model(functions, int(value))
        try:
            model.run(functions[2])
            result[lane] = model.x
        except Leave:
            result[lane] = model.x ^ 0xAA
    return result


def compile_glsl(text: str, folder: Path) -> bytes:
    source, target = folder / "shader.comp", folder / "shader.spv"
    source.write_text(text)
    done = subprocess.run(["glslangValidator", "-V", str(source), "-o", str(target)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + text
    return target.read_bytes()


def optimised(module: bytes, folder: Path) -> bytes:
    """The module after spirv-opt: phis, merged blocks, single-case switches."""
    source, target = folder / "plain.spv", folder / "optimised.spv"
    source.write_bytes(module)
    subprocess.run(["spirv-opt", "-O", str(source), "-o", str(target)], check=True, capture_output=True)
    return target.read_bytes()


def agree(seed: int, folder: Path, many_cases: bool = False) -> None:
    text, functions = program(seed, many_cases)
    values = numpy.random.default_rng(seed).integers(0, 1 << 32, LANES, dtype=numpy.uint32)
    wanted = expected(functions, values)
    module = compile_glsl(text, folder)
    modules = [module]
    if shutil.which("spirv-opt"):
        modules.append(optimised(module, folder))
    for words in modules:
        shader = spirv.read(words)
        validate.run(shader)
        buffer = values.copy()
        interpreter.run(shader, (1, 1, 1), {(0, 0): buffer})
        assert numpy.array_equal(buffer, wanted), f"seed {seed}\n{text}"


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    agree(seed, tmp_path)


@pytest.mark.parametrize("seed", range(2))
def test_switches_of_many_cases(seed: int, tmp_path: Path) -> None:
    agree(seed, tmp_path, many_cases=True)


def test_switches_of_many_cases_are_not_deep(tmp_path: Path) -> None:
    cases = "".join(f"case {number}u: x ^= {number * 77}u; break;\n" for number in range(400))
    module = compile_glsl(f"""#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer B {{ uint b[]; }};
void main() {{ uint x = b[gl_LocalInvocationIndex]; switch (x) {{ {cases} default: x = 5u; }} b[gl_LocalInvocationIndex] = x; }}
""", tmp_path)  # fmt: skip
    depth = deepest = 0
    for line in print_shader(spirv.read(module)).splitlines():
        depth += line.count("{") - line.count("}")
        deepest = max(deepest, depth)
    assert deepest < 30


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_more_switches_of_many_cases(seed: int, tmp_path: Path) -> None:
    agree(seed, tmp_path, many_cases=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_many_random_programs(seed: int, tmp_path: Path) -> None:
    agree(seed, tmp_path)
