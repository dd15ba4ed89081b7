"""Compute shaders of any size, for curves of cost over size: deterministic GLSL, compiled by ``glslangValidator``.

A shader is a sequence of statements over a dozen integer and float variables, with loads from two buffers, branches and
loops nested up to three deep, divergent and uniform ones mixed, as in generated kernels. ``kind="straight"`` leaves the
control flow out, so that everything is one block; ``kind="loops"`` has loops alone. Statements stand in sections, as real programs have phases:
each has uniform parameters of its own, of which its uniform expressions, loads and conditions are made. With parameters of the whole program, equal
expressions would be merged all over it and stay in registers: the longer the program, the more would be live everywhere (55 values a block in
9,000 SPIR-V instructions, 131 in 900,000), and every pass that looks at live values would take that much longer for each instruction.
All shaders of one kind and seed are prefixes of the same stream of statements. Those of over 100,000 instructions are the body of such a shader
several times in a row: ``glslangValidator`` would take minutes.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy

HEAD = """#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Words { uint words[4096]; };
layout(set = 0, binding = 1) buffer Results { uvec4 results[]; };
layout(push_constant) uniform Parameters { uint first_p; uint first_q; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
"""
INTEGERS = [f"u{index}" for index in range(12)]
FLOATS = [f"f{index}" for index in range(8)]
#: Few, as are the uniform conditions: equal expressions of a section are merged and stay in registers.
CONSTANTS = [random.Random(3 * index + 1).randrange(1, 1 << 16) for index in range(32)]

#: Uniform variables, whose values a section changes when it begins, by no sum of products that compilers would collect over all sections.
PARAMETERS = ["p", "q"]
SECTION = "p = (p ^ (p >> 9)) * 1664525u;\n    q = q ^ (p >> 9);"
#: Statements outside of branches and loops after which the next section begins.
STATEMENTS_PER_SECTION = 64

#: SPIR-V instructions that one statement becomes, on average (measured), by kind.
WORDS_PER_STATEMENT = {"straight": 8.2, "branching": 9.7, "loops": 10.4}

#: Of the stream of statements that is taken where nothing is said.
FIRST_SEED = 7

#: The largest shader that ``glslangValidator`` compiles.
LARGEST_OF_GLSL = 100_000

#: Opcodes of SPIR-V.
LABEL, RETURN, FUNCTION, FUNCTION_END, VARIABLE, BRANCH, STORE = 248, 253, 54, 56, 59, 249, 62
#: The first word that is a literal, of those opcodes that bodies of these shaders have and that take some: OpExtInst (its number only),
#: OpLoad, OpStore, OpCompositeExtract, OpLoopMerge, OpSelectionMerge, OpBranchConditional.
LITERALS = {12: range(4, 5), 61: range(4, 9), 62: range(3, 9), 81: range(4, 9), 246: range(3, 9), 247: range(2, 9), 250: range(4, 9)}


class Writer:
    """Statements from a random stream."""

    def __init__(self, kind: str, seed: int) -> None:
        self.random = random.Random(seed)
        self.kind = kind
        self.lines: list[str] = []
        self.statements = 0
        self.names = 0
        self.next_section = STATEMENTS_PER_SECTION

    def integer(self) -> str:
        return self.random.choice(INTEGERS)

    def statement(self, indent: str) -> None:
        pick = self.random.random()
        # Two different ones: a variable less itself would be a constant, and what follows from it would be equal wherever it happens again.
        to, (a, b) = self.integer(), self.random.sample(INTEGERS, 2)
        x, (y, z) = self.random.choice(FLOATS), self.random.sample(FLOATS, 2)
        constant = self.random.choice(CONSTANTS)
        if pick < 0.30:
            operation = self.random.choice(["+", "-", "*", "^", "&", "|"])
            text = f"{to} = ({a} {operation} {b}) + {constant}u;"
        elif pick < 0.42:
            text = f"{to} ^= ({a} << {constant % 31 + 1}) | ({b} >> {31 - constant % 31});"
        elif pick < 0.50:
            text = f"{to} += words[({a} + {constant}u) & 4095u];"
        elif pick < 0.55:
            text = f"{to} += words[(p & 4080u) + {constant % 16}u] + p * {constant % 16}u;"
        elif pick < 0.75:
            text = f"{x} = {y} * {z} + {constant / 65536:.5f};"
        elif pick < 0.83:
            text = f"{x} = max({y}, {z} - {constant / 4096:.4f}) * 0.5;"
        elif pick < 0.88:
            text = f"{x} += float({a} & 1023u) * {constant / 65536:.5f};"
        elif pick < 0.92:
            text = f"{to} = {a} < {b} ? {to} : min({a}, {constant}u) + 1u;"
        elif pick < 0.96:
            text = f"{x} = {y} > {z} ? sqrt(abs({x})) : {y} - {z};"
        else:
            text = f"{to} += uint(bitCount({a})) + uint(int({x}));"
        self.lines.append(indent + text)
        self.statements += 1

    def body(self, count: int, depth: int) -> None:
        indent = "    " * (depth + 1)
        end = self.statements + count
        while self.statements < end:
            if depth == 0 and self.statements >= self.next_section:
                self.lines.append(indent + SECTION)
                self.next_section = self.statements + STATEMENTS_PER_SECTION
            if self.kind != "straight" and depth < 3 and self.random.random() < 0.08:
                self.construct(min(end - self.statements, self.random.randrange(4, 24)), depth, indent)
            else:
                self.statement(indent)

    def construct(self, count: int, depth: int, indent: str) -> None:
        pick = self.random.uniform(0.55 if self.kind == "loops" else 0.0, 1.0)
        a = self.integer()
        bit = self.random.randrange(32)
        if pick < 0.35:
            self.lines.append(f"{indent}if (({a} >> {bit} & 1u) != 0u) {{")
        elif pick < 0.55:
            self.lines.append(f"{indent}if ((q >> {bit % 8} & 1u) != 0u) {{")
        else:
            self.names += 1
            bound = f"({a} & 3u)" if pick < 0.8 else f"(q >> {bit % 8} & 3u)"
            name = f"n{self.names}"
            self.lines.append(f"{indent}for (uint {name} = 0u; {name} < {bound} + 1u; ++{name}) {{")
        self.body(count, depth + 1)
        if pick < 0.2:
            self.lines.append(f"{indent}}} else {{")
            self.body(max(1, count // 3), depth + 1)
        elif pick >= 0.55 and self.random.random() < 0.4:
            self.lines.append(f"{indent}    if ({self.integer()} == {self.random.randrange(64)}u) break;")
        self.lines.append(f"{indent}}}")


def glsl(statements: int, kind: str = "branching", seed: int = FIRST_SEED) -> str:
    """GLSL of a shader of so many statements."""
    writer = Writer(kind, seed)
    writer.body(statements, 0)
    start = [f"    uint {name} = words[i + {64 * index}u];\n" for index, name in enumerate(INTEGERS)]
    start += [f"    float {name} = float(i + {index}u) * 0.01;\n" for index, name in enumerate(FLOATS)]
    start += [f"    uint {name} = first_{name};\n" for name in PARAMETERS]
    sums = [" ^ ".join(INTEGERS[index::3]) for index in range(3)]
    tail = f"    results[i] = uvec4({', '.join(sums)}, floatBitsToUint({' + '.join(FLOATS)}));\n}}\n"
    return HEAD + "".join(start) + "\n".join(writer.lines) + "\n" + tail


def repeated(module: bytes, times: int) -> bytes:
    """A module whose one function runs the body of that of `module` so many times in a row, with the same variables and ids of its own.

    The variables' first values are left out of all copies but the first: with them, all copies would compute the same.
    """
    words = numpy.frombuffer(module, "<u4").tolist()
    bound = words[3]
    instructions = []
    at = 5
    while at < len(words):
        instructions.append(words[at : at + (words[at] >> 16)])
        at += words[at] >> 16
    opcodes = [instruction[0] & 0xFFFF for instruction in instructions]
    start = opcodes.index(FUNCTION)
    body = start + 2
    while opcodes[body] == VARIABLE:
        body += 1
    last = opcodes.index(FUNCTION_END) - 1
    assert opcodes[last] == RETURN and opcodes.count(FUNCTION) == 1
    inner = instructions[body:last]
    defined = set(spirv_results(inner))
    again = [at for at, instruction in enumerate(inner) if instruction[0] & 0xFFFF == STORE][len(INTEGERS) + len(FLOATS) + len(PARAMETERS)] + 1
    made = [word for instruction in instructions[:body] for word in instruction]
    for copy in range(times):
        shift = copy * bound
        if copy and LABEL in opcodes[body:last]:
            made += [2 << 16 | BRANCH, times * bound + copy, 2 << 16 | LABEL, times * bound + copy]
        for instruction in inner[again if copy else 0 :]:
            literals = LITERALS.get(instruction[0] & 0xFFFF, range(0))
            made += [instruction[0], *(word + shift if word in defined and place not in literals else word
                                       for place, word in enumerate(instruction[1:], 1))]  # fmt: skip
    made += [word for instruction in instructions[last:] for word in instruction]
    words[3] = times * (bound + 1)
    return numpy.array(words[:5] + made, "<u4").tobytes()


def spirv_results(instructions: list[list[int]]) -> Iterator[int]:
    """The ids that instructions of a body define: labels, and second words behind a type."""
    without_result = {62, 246, 247, 249, 250}
    for instruction in instructions:
        opcode = instruction[0] & 0xFFFF
        if opcode not in without_result:
            yield instruction[1 if opcode == LABEL else 2]


def spirv(instructions: int, kind: str = "branching", seed: int = FIRST_SEED) -> bytes:
    """SPIR-V of about so many instructions; needs ``glslangValidator`` on the path."""
    if instructions > LARGEST_OF_GLSL:
        return repeated(spirv(LARGEST_OF_GLSL, kind, seed), round(instructions / LARGEST_OF_GLSL))
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "big.comp", Path(folder) / "big.spv"
        source.write_text(glsl(max(1, int((instructions - 220) / WORDS_PER_STATEMENT[kind])), kind, seed))
        command = ["glslangValidator", "-V", "--target-env", "vulkan1.1", "-o", str(target), str(source)]
        subprocess.run(command, check=True, capture_output=True)
        return target.read_bytes()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("instructions", type=int)
    parser.add_argument("-o", "--output", type=Path, help="write SPIR-V here (GLSL to the terminal without)")
    parser.add_argument("--kind", choices=sorted(WORDS_PER_STATEMENT), default="branching")
    options = parser.parse_args()
    if options.output:
        options.output.write_bytes(spirv(options.instructions, options.kind))
    else:
        print(glsl(int(options.instructions / WORDS_PER_STATEMENT[options.kind]), options.kind), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
