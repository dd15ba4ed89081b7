"""Compute shaders of any size, for curves of cost over size: deterministic GLSL, compiled by ``glslangValidator``.

A shader is a sequence of statements over a dozen integer and float variables, with loads from two buffers, branches and
loops nested up to three deep, divergent and uniform ones mixed, as in generated kernels. ``kind="straight"`` leaves the
control flow out, so that everything is one block. All shaders of one kind are prefixes of the same stream of statements.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

HEAD = """#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Words { uint words[4096]; };
layout(set = 0, binding = 1) buffer Results { uvec4 results[]; };
layout(push_constant) uniform Parameters { uint p; uint q; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
"""
INTEGERS = [f"u{index}" for index in range(12)]
FLOATS = [f"f{index}" for index in range(8)]

#: SPIR-V instructions that one statement becomes, on average (measured), by kind.
WORDS_PER_STATEMENT = {"straight": 8.2, "branching": 9.7}


class Writer:
    """Statements from a random stream."""

    def __init__(self, kind: str, seed: int = 7) -> None:
        self.random = random.Random(seed)
        self.kind = kind
        self.lines: list[str] = []
        self.statements = 0
        self.names = 0

    def integer(self) -> str:
        return self.random.choice(INTEGERS)

    def floating(self) -> str:
        return self.random.choice(FLOATS)

    def statement(self, indent: str) -> None:
        pick = self.random.random()
        to, a, b = self.integer(), self.integer(), self.integer()
        x, y, z = self.floating(), self.floating(), self.floating()
        constant = self.random.randrange(1, 1 << 16)
        if pick < 0.30:
            operation = self.random.choice(["+", "-", "*", "^", "&", "|"])
            text = f"{to} = ({a} {operation} {b}) + {constant}u;"
        elif pick < 0.42:
            text = f"{to} ^= ({a} << {constant % 31 + 1}) | ({b} >> {31 - constant % 31});"
        elif pick < 0.50:
            text = f"{to} += words[({a} + {constant}u) & 4095u];"
        elif pick < 0.55:
            text = f"{to} += words[{constant % 4096}] + p * {constant}u;"
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
            if self.kind == "branching" and depth < 3 and self.random.random() < 0.08:
                self.construct(min(end - self.statements, self.random.randrange(4, 24)), depth, indent)
            else:
                self.statement(indent)

    def construct(self, count: int, depth: int, indent: str) -> None:
        pick = self.random.random()
        a = self.integer()
        bit = self.random.randrange(32)
        if pick < 0.35:
            self.lines.append(f"{indent}if (({a} >> {bit} & 1u) != 0u) {{")
        elif pick < 0.55:
            self.lines.append(f"{indent}if ((q >> {bit} & 1u) != 0u) {{")
        else:
            self.names += 1
            bound = f"({a} & 3u)" if pick < 0.8 else f"(q >> {bit} & 3u)"
            name = f"n{self.names}"
            self.lines.append(f"{indent}for (uint {name} = 0u; {name} < {bound} + 1u; ++{name}) {{")
        self.body(count, depth + 1)
        if pick < 0.2:
            self.lines.append(f"{indent}}} else {{")
            self.body(max(1, count // 3), depth + 1)
        elif pick >= 0.55 and self.random.random() < 0.4:
            self.lines.append(f"{indent}    if ({self.integer()} == {self.random.randrange(64)}u) break;")
        self.lines.append(f"{indent}}}")


def glsl(statements: int, kind: str = "branching") -> str:
    """GLSL of a shader of so many statements."""
    writer = Writer(kind)
    writer.body(statements, 0)
    start = [f"    uint {name} = words[i + {64 * index}u];\n" for index, name in enumerate(INTEGERS)]
    start += [f"    float {name} = float(i + {index}u) * 0.01;\n" for index, name in enumerate(FLOATS)]
    sums = [" ^ ".join(INTEGERS[index::3]) for index in range(3)]
    tail = f"    results[i] = uvec4({', '.join(sums)}, floatBitsToUint({' + '.join(FLOATS)}));\n}}\n"
    return HEAD + "".join(start) + "\n".join(writer.lines) + "\n" + tail


def spirv(instructions: int, kind: str = "branching") -> bytes:
    """SPIR-V of about so many instructions; needs ``glslangValidator`` on the path."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "big.comp", Path(folder) / "big.spv"
        source.write_text(glsl(max(1, int((instructions - 220) / WORDS_PER_STATEMENT[kind])), kind))
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
