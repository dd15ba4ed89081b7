"""Large compute shaders of many shapes, each of any size: what a pass may be slow at that the mixed programs of `big_shader` do not have.

A shape is a GLSL program made of one kind of thing, again and again: one block without an end, blocks of two instructions, ifs in ifs, variables
that both sides of each if assign, loops, loads and stores, barriers, switches, 64-bit arithmetic, arrays, functions ... Some grow in other
directions than length: `one_switch` in the number of its cases, `one_loop` in what a single loop holds, `variables` in how many values live from
beginning to end, `functions` in how many functions there are. All are deterministic; ``glslangValidator`` compiles them.
"""

from __future__ import annotations

import functools
import random
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

HEAD = """#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Words { uint words[]; };
layout(set = 0, binding = 1) buffer Results { uint results[]; };
layout(set = 0, binding = 2) buffer Vectors { vec4 vectors[]; };
layout(set = 0, binding = 3) uniform Uniforms { uvec4 uniforms[1024]; };
layout(set = 0, binding = 4) uniform sampler2D pictures;
layout(set = 0, binding = 5, rgba8) uniform image2D pixels;
layout(push_constant) uniform Parameters { uint p; uint q; };
shared uint tile[1024];
"""
START = """void main()
{
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationIndex;
    uint a = words[i], b = words[i + 64u], c = words[i + 128u], d = words[i + 192u];
    float x = uintBitsToFloat(a), y = uintBitsToFloat(b), z = uintBitsToFloat(c);
"""
END = "    results[i] = a ^ b ^ c ^ d ^ floatBitsToUint(x + y + z);\n}\n"

#: What writes one statement of a shape: its number and a stream of random numbers give GLSL.
Statement = Callable[[int, random.Random], str]


def _statements(count: int, statement: Statement) -> str:
    stream = random.Random(11)
    return "".join(f"    {statement(index, stream)}\n" for index in range(count))


def _plain(statement: Statement, before: str = "", after: str = "", head: str = "") -> Callable[[int], str]:
    return lambda count: HEAD + head + START + before + _statements(count, statement) + after + END


def _name(stream: random.Random, names: str = "abcd") -> str:
    return stream.choice(names)


def _arithmetic(index: int, stream: random.Random) -> str:
    one, other, to = _name(stream), _name(stream), _name(stream)
    return stream.choice(
        [
            f"{to} = {one} * {stream.randrange(1, 9999)}u + {other};",
            f"{to} ^= ({one} << {stream.randrange(1, 31)}) | {other};",
            f"x = x * y + float({one});",
            f"y = max(z, x) - {stream.random():.4f};",
            "z = fma(x, y, z);",
        ]
    )


def _small_block(index: int, stream: random.Random) -> str:
    return f"if (({_name(stream)} & {1 << stream.randrange(20)}u) != 0u) {_name(stream)} += {_name(stream)} ^ {index}u;"


def _uniform_block(index: int, stream: random.Random) -> str:
    return f"if ((words[{index & 4095}] & {1 << stream.randrange(20)}u) != 0u) {_name(stream)} += {_name(stream)} ^ {index}u;"


def _nest(index: int, stream: random.Random) -> str:
    depth = 24
    text = "".join(f"if ({_name(stream)} > {stream.randrange(1 << 30)}u) {{ {_arithmetic(index, stream)} " for _ in range(depth))
    return text + "".join(f"}} {_arithmetic(index, stream)} " for _ in range(depth))


def _wide_phis(index: int, stream: random.Random) -> str:
    names = [f"v{number}" for number in range(32)]
    then = " ".join(f"{name} = {stream.choice(names)} + {index}u;" for name in names)
    other = " ".join(f"{name} ^= {stream.choice(names)};" for name in names)
    return f"if ((a & {1 << index % 32}u) != 0u) {{ {then} }} else {{ {other} }} a += v{index % 32};"


def _loop(index: int, stream: random.Random) -> str:
    return (
        f"for (uint n{index} = 0u; n{index} < ({_name(stream)} & 7u); ++n{index}) {{ {_arithmetic(index, stream)} "
        f"if ({_name(stream)} == {index}u) break; {_arithmetic(index, stream)} }}"
    )


def _counted_loop(index: int, stream: random.Random) -> str:
    count, body = stream.randrange(3, 60), _arithmetic(index, stream) + " " + _arithmetic(index, stream)
    return f"for (uint n{index} = 0u; n{index} < {count}u; ++n{index}) {{ {body} }}"


def _loops_in_loops(index: int, stream: random.Random) -> str:
    depth = 6
    text = "".join(
        f"for (uint n{index}_{k} = 0u; n{index}_{k} < ({_name(stream)} & 3u); ++n{index}_{k}) {{ {_arithmetic(index, stream)} " for k in range(depth)
    )
    return text + "".join(f"{_arithmetic(index, stream)} }} " for _ in range(depth))


def _memory(index: int, stream: random.Random) -> str:
    return stream.choice(
        [
            f"{_name(stream)} += words[i * 4u + {stream.randrange(999)}u];",
            f"{_name(stream)} ^= words[({_name(stream)} & 1023u) + {index % 97}u];",
            f"vectors[i + {stream.randrange(999)}u] = vec4(x, y, z, x);",
            f"results[i * 3u + {stream.randrange(99)}u] = {_name(stream)};",
            f"x += vectors[i + {stream.randrange(999)}u].y;",
            f"{_name(stream)} += uniforms[{stream.randrange(1024)}].z;",
        ]
    )


def _stores(index: int, stream: random.Random) -> str:
    return f"results[i * 1024u + {index & 1023}u] = {_name(stream)} + {index}u;"


def _loads(index: int, stream: random.Random) -> str:
    return f"{_name(stream)} ^= words[i * 2048u + {index & 2047}u];"


def _lds(index: int, stream: random.Random) -> str:
    return (
        f"tile[(l + {stream.randrange(64)}u) & 1023u] = {_name(stream)}; {'barrier();' if index % 4 == 0 else ''} "
        f"{_name(stream)} += tile[l ^ {stream.randrange(64)}u];"
    )


def _switch(index: int, stream: random.Random) -> str:
    cases = " ".join(f"case {k}u: {_arithmetic(index, stream)} {'break;' if k % 5 else ''}" for k in range(16))
    return f"switch ({_name(stream)} & 31u) {{ {cases} default: d += {index}u; }}"


def _wide_integers(index: int, stream: random.Random) -> str:
    one, other, to = (_name(stream, "mno") for _ in range(3))
    return stream.choice(
        [
            f"{to} = {one} * {other} + {index}ul;",
            f"{to} ^= {one} >> ({other} & 63ul);",
            f"{to} = {one} < {other} ? {to} : {one} - {other};",
            f"{to} += uint64_t({_name(stream)}) << 13;",
            f"{to} = min({one}, {other}) | {to};",
        ]
    )


def _wide_divisions(index: int, stream: random.Random) -> str:
    one, other, to = (_name(stream, "mno") for _ in range(3))
    return f"{to} = {one} {stream.choice('/%')} ({other} | {index + 1}ul);"


def _doubles(index: int, stream: random.Random) -> str:
    one, other, to = (_name(stream, "rst") for _ in range(3))
    return stream.choice(
        [
            f"{to} = {one} / {other} + {to};",
            f"{to} = sqrt(abs({one}));",
            f"{to} = fma({one}, {other}, {to});",
            f"{to} = floor({one}) - fract({other});",
            f"{to} = {one} > {other} ? {to} : {other} * 1.5lf;",
        ]
    )


def _array(index: int, stream: random.Random) -> str:
    return f"w[{stream.randrange(64)}] = w[{stream.randrange(64)}] * {stream.randrange(1, 99)}u + w[{stream.randrange(64)}] ^ {_name(stream)};"


def _indexed_array(index: int, stream: random.Random) -> str:
    return f"w[{_name(stream)} & 31u] += w[{stream.randrange(32)}] ^ {_name(stream)}; {_name(stream)} += w[{_name(stream)} & 31u];"


def _structures(index: int, stream: random.Random) -> str:
    one, other = stream.sample(["s0", "s1", "s2", "s3"], 2)
    return stream.choice(
        [
            f"{one} = {other};",
            f"{one}.m[{index % 4}] = {other}.m[{stream.randrange(4)}] * x;",
            f"{one}.v.zx = {other}.v.xy + y;",
            f"{one}.k[{index % 8}] += {other}.k[{stream.randrange(8)}] + a;",
        ]
    )


def _matrices(index: int, stream: random.Random) -> str:
    one, other, to = (_name(stream, "efg") for _ in range(3))
    return stream.choice([f"{to} = {one} * {other};", f"{to} = transpose({one}) + {other};", f"{to}[{index % 4}] = {one} * {other}[{index % 3}];"])


def _small_numbers(index: int, stream: random.Random) -> str:
    return stream.choice(
        [
            "h = h * k + h;",
            f"k = max(h, k) - float16_t({stream.random():.3f});",
            "s = s * t + s;",
            f"t = (s << {stream.randrange(1, 15)}us) ^ t;",
            "u = u + uint8_t(s) * u;",
            f"a += uint(u) + uint(t) ^ {index}u;",
            "v = v * v.yx + v;",
            f"b ^= uint(v.x) + {index}u;",
        ]
    )


def _subgroups(index: int, stream: random.Random) -> str:
    one = _name(stream)
    return stream.choice(
        [
            f"{one} += subgroupAdd({_name(stream)} ^ {index}u);",
            f"{one} ^= subgroupBallot({_name(stream)} > {index}u).x;",
            f"{one} = subgroupShuffleXor({one}, {1 << index % 5}u);",
            f"{one} += subgroupInclusiveMin({_name(stream)});",
            f"{one} = subgroupBroadcastFirst({one} + {index}u) + l;",
        ]
    )


def _images(index: int, stream: random.Random) -> str:
    return stream.choice(
        [
            f"x += textureLod(pictures, vec2(x, y) * {stream.random():.3f}, 0.0).x;",
            f"y += imageLoad(pixels, ivec2(a, {index & 255})).y;",
            f"imageStore(pixels, ivec2(b & 255u, {index & 255}), vec4(x, y, z, x));",
            f"z += texelFetch(pictures, ivec2(c, {index & 63}), 0).z;",
        ]
    )


def _atomics(index: int, stream: random.Random) -> str:
    return stream.choice(
        [
            f"{_name(stream)} += atomicAdd(results[{_name(stream)} & 255u], {index}u);",
            f"atomicMax(tile[{_name(stream)} & 1023u], {_name(stream)});",
            f"{_name(stream)} ^= atomicExchange(results[l + {index & 63}u], {_name(stream)});",
        ]
    )


def _variables(index: int, stream: random.Random) -> str:
    return f"w[{index % 200}] += w[{stream.randrange(200)}] * {stream.randrange(1, 99)}u;"


def _one_switch(count: int) -> str:
    stream = random.Random(13)
    cases = "".join(f"    case {k}u: {_arithmetic(k, stream)} break;\n" for k in range(count))
    return f"{HEAD}{START}    switch (a) {{\n{cases}    default: d += 1u;\n    }}\n{END}"


def _one_nest(count: int) -> str:
    stream = random.Random(17)
    depth = min(count, 120)
    each = max(1, count // depth)
    text = "".join(f"if ({_name(stream)} > {stream.randrange(1 << 30)}u) {{ {_statements(each, _arithmetic)}" for _ in range(depth))
    return f"{HEAD}{START}{text}{'}' * depth}\n{END}"


def _one_loop(count: int) -> str:
    return f"{HEAD}{START}    for (uint n = 0u; n < (p & 15u); ++n) {{\n{_statements(count, _mixed_body)}    }}\n{END}"


def _mixed_body(index: int, stream: random.Random) -> str:
    return _small_block(index, stream) if index % 5 == 0 else _memory(index, stream) if index % 7 == 0 else _arithmetic(index, stream)


_PARAMETERS = "(uint a, uint b, uint c, uint d) { float x = float(a), y = float(b), z = 1.0;"
_RESULT = "a ^ c ^ d ^ uint(x + y + z)"


def _functions(count: int) -> str:
    stream = random.Random(19)
    names, text = [], ""
    for k in range(max(1, count // 6)):
        body = "".join(_arithmetic(j, stream) + " " for j in range(4))
        text += f"uint f{k}{_PARAMETERS} {body} if (a > {k}u) return b; return {_RESULT}; }}\n"
        names.append(f"    {_name(stream)} += f{k}(a, b, c, d);\n")
    return f"{HEAD}{text}{START}{''.join(names)}{END}"


def _one_function(count: int) -> str:
    stream = random.Random(23)
    body = "".join(_arithmetic(j, stream) + " " for j in range(12))
    function = f"uint f{_PARAMETERS} {body} if (a > b) return c; return {_RESULT}; }}\n"
    calls = "".join(f"    {_name(stream)} = f(a, b ^ {k}u, c, d);\n" for k in range(max(1, count // 14)))
    return f"{HEAD}{function}{START}{calls}{END}"


def _constants(index: int, stream: random.Random) -> str:
    return f"{_name(stream)} = ({_name(stream)} ^ {stream.randrange(1 << 32)}u) + uniforms[{index & 1023}].x * {stream.randrange(1 << 32)}u;"


def _sum_of_loads(count: int) -> str:
    loads = "".join(f"    uint t{k} = words[i + {k * 64}u];\n" for k in range(count))
    uses = "".join(f"    a += t{k} * {k + 3}u;\n" for k in range(count))
    return f"{HEAD}{START}{loads}    b ^= words[a];\n{uses}{END}"


_SMALL = """    float16_t h = float16_t(x), k = float16_t(y); uint16_t s = uint16_t(a), t = uint16_t(b);
    uint8_t u = uint8_t(c); u16vec2 v = u16vec2(s, t);
"""
_WIDE = "    uint64_t m = packUint2x32(uvec2(a, b)), n = packUint2x32(uvec2(c, d)), o = m ^ n;\n"
_MANY = "".join(f"    uint v{k} = a * {k + 3}u + words[i + {k}u];\n" for k in range(32))
_STRUCT = "struct S { mat4 m; vec4 v; uint k[8]; };\n"
_STRUCTS = "".join(
    f"    S s{k}; s{k}.m = mat4(x + {k}.0); s{k}.v = vec4(y); for (int j = 0; j < 8; ++j) s{k}.k[j] = words[i + j];\n" for k in range(4)
)

#: Each shape: GLSL of so many statements.
SHAPES: dict[str, Callable[[int], str]] = {
    "one_block": _plain(_arithmetic),
    "small_blocks": _plain(_small_block),
    "uniform_blocks": _plain(_uniform_block),
    "nests": _plain(_nest),
    "one_nest": _one_nest,
    "wide_phis": _plain(_wide_phis, _MANY),
    "loops": _plain(_loop),
    "counted_loops": _plain(_counted_loop),
    "loops_in_loops": _plain(_loops_in_loops),
    "one_loop": _one_loop,
    "memory": _plain(_memory),
    "stores": _plain(_stores),
    "loads": _plain(_loads),
    "sum_of_loads": _sum_of_loads,
    "lds": _plain(_lds),
    "switches": _plain(_switch),
    "one_switch": _one_switch,
    "wide_integers": _plain(_wide_integers, _WIDE, "    a ^= uint(m ^ n ^ o >> 32);\n"),
    "wide_divisions": _plain(_wide_divisions, _WIDE, "    a ^= uint(m ^ n ^ o);\n"),
    "doubles": _plain(_doubles, "    double r = double(x), s = double(y), t = r * s;\n", "    x += float(r + s + t);\n"),
    "array": _plain(_array, "    uint w[64]; for (int j = 0; j < 64; ++j) w[j] = words[i + j];\n", "    for (int j = 0; j < 64; ++j) a ^= w[j];\n"),
    "indexed_array": _plain(_indexed_array, "    uint w[32]; for (int j = 0; j < 32; ++j) w[j] = words[i + j];\n", "    a ^= w[b & 31u];\n"),
    "variables": _plain(
        _variables, "    uint w[200]; for (int j = 0; j < 200; ++j) w[j] = words[i + j];\n", "    for (int j = 0; j < 200; ++j) a ^= w[j];\n"
    ),
    "structures": _plain(_structures, _STRUCTS, "    x += s0.m[1].x + s1.v.z + s2.m[3].y + s3.v.w; a ^= s0.k[1] ^ s3.k[7];\n", _STRUCT),
    "matrices": _plain(_matrices, "    mat4 e = mat4(x), f = mat4(y), g = mat4(z);\n", "    x += e[0].x + f[1].y + g[2].z;\n"),
    "small_numbers": _plain(_small_numbers, _SMALL, "    a += uint(h + k) + uint(s) + uint(v.y);\n"),
    "subgroups": _plain(_subgroups),
    "images": _plain(_images),
    "atomics": _plain(_atomics),
    "constants": _plain(_constants),
    "functions": _functions,
    "one_function": _one_function,
}


def _compiled(source: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        text, binary = Path(folder) / "shape.comp", Path(folder) / "shape.spv"
        text.write_text(source)
        done = subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.1", "-o", str(binary), str(text)], capture_output=True, text=True)
        if done.returncode:
            raise ValueError(done.stdout[:2000])
        return binary.read_bytes()


def _count(module: bytes) -> int:
    words = memoryview(module).cast("I")
    at, count = 5, 0
    while at < len(words):
        at += words[at] >> 16
        count += 1
    return count


@functools.cache
def _per_statement(shape: str) -> tuple[float, float]:
    """Instructions of a shape without statements, and of each statement."""
    few, many = (_count(_compiled(SHAPES[shape](number))) for number in (120, 360))
    return few - (many - few) / 2, (many - few) / 240


def spirv(shape: str, instructions: int) -> bytes:
    """SPIR-V of a shape with about so many instructions."""
    base, each = _per_statement(shape)
    return _compiled(SHAPES[shape](max(1, round((instructions - base) / each))))
