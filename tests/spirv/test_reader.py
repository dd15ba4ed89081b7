"""What the reader makes of single features, executed by the NIR interpreter or looked at in text."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

from pyaco import InputError, UnsupportedError, spirv
from pyaco._core.nir import lower_tex, validate
from pyaco.nir import interpreter
from pyaco.nir.text import print_shader

SHADERS = sorted((Path(__file__).parents[1] / "shaders").glob("*.spv"))
Assemble = Callable[[str], bytes]


@pytest.mark.parametrize("path", SHADERS, ids=lambda path: path.stem)
def test_shader_reads_valid(path: Path) -> None:
    shader = spirv.read(path.read_bytes())
    validate.run(shader)
    text = print_shader(shader)
    assert text.count("{") == text.count("}")
    assert "return" not in text.split("impl main")[1].replace("return_", "")


@pytest.fixture
def assemble(tmp_path: Path) -> Assemble:
    """SPIR-V assembly to words."""
    if shutil.which("spirv-as") is None:
        pytest.skip("needs spirv-as")

    def run(text: str) -> bytes:
        source, target = tmp_path / "module.spvasm", tmp_path / "module.spv"
        source.write_text(text)
        done = subprocess.run(
            ["spirv-as", "--target-env", "spv1.4", "--preserve-numeric-ids", str(source), "-o", str(target)],
            capture_output=True, text=True,
        )
        assert done.returncode == 0, done.stderr
        return target.read_bytes()

    return run


HEADER = """
OpCapability Shader
OpCapability Int64
OpCapability Int16
OpCapability Int8
OpCapability Float16
OpCapability Float64
OpCapability GroupNonUniform
OpCapability VariablePointers
%glsl = OpExtInstImport "GLSL.std.450"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %id %in %out {interface}
OpExecutionMode %main LocalSize 8 1 1
OpDecorate %id BuiltIn LocalInvocationIndex
OpDecorate %array ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %in DescriptorSet 0
OpDecorate %in Binding 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 1
{decorations}
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%int = OpTypeInt 32 1
%float = OpTypeFloat 32
%half = OpTypeFloat 16
%double = OpTypeFloat 64
%ulong = OpTypeInt 64 0
%ushort = OpTypeInt 16 0
%uchar = OpTypeInt 8 0
%v2uint = OpTypeVector %uint 2
%v4uint = OpTypeVector %uint 4
%v2float = OpTypeVector %float 2
%v3float = OpTypeVector %float 3
%v4float = OpTypeVector %float 4
%v4uchar = OpTypeVector %uchar 4
%v4ushort = OpTypeVector %ushort 4
%fn = OpTypeFunction %void
%array = OpTypeRuntimeArray %uint
%block = OpTypeStruct %array
%pblock = OpTypePointer StorageBuffer %block
%puint = OpTypePointer StorageBuffer %uint
%pin = OpTypePointer Input %uint
%fuint = OpTypePointer Function %uint
%id = OpVariable %pin Input
%in = OpVariable %pblock StorageBuffer
%out = OpVariable %pblock StorageBuffer
%c0 = OpConstant %uint 0
%c1 = OpConstant %uint 1
%c2 = OpConstant %uint 2
%c3 = OpConstant %uint 3
%c7 = OpConstant %uint 7
{globals}
%main = OpFunction %void None %fn
%entry = OpLabel
{locals}
%i = OpLoad %uint %id
%from = OpAccessChain %puint %in %c0 %i
%to = OpAccessChain %puint %out %c0 %i
%x = OpLoad %uint %from
{body}
OpReturn
OpFunctionEnd
{functions}
"""


def module(body: str, **parts: str) -> str:
    """A module that reads x of its lane, runs `body`, which stores through %to."""
    names = ("interface", "decorations", "globals", "locals", "functions")
    return HEADER.format(body=body, **{name: parts.get(name, "") for name in names})


def run(words: bytes, values: list[int], **options: Any) -> list[int]:
    """Execute eight lanes."""
    shader = spirv.read(words, **options)
    validate.run(shader)
    buffers = {(0, 0): numpy.array(values, numpy.uint32), (0, 1): numpy.zeros(8, numpy.uint32)}
    interpreter.run(shader, (1, 1, 1), buffers)
    return buffers[0, 1].tolist()


VALUES = [0, 1, 2, 7, 100, 0x80000000, 0xFFFFFFFF, 0x12345678]


def signed(x: int) -> int:
    return x - (1 << 32) if x >> 31 else x


@pytest.mark.parametrize(
    ("expression", "model"),
    [
        ("%r = OpBitReverse %uint %x", lambda x: int(f"{x:032b}"[::-1], 2)),
        ("%r = OpBitCount %uint %x", lambda x: x.bit_count()),
        ("%r = OpUMod %uint %x %c7", lambda x: x % 7),
        ("%s = OpBitcast %int %x\n%q = OpSMod %int %s %m3\n%r = OpBitcast %uint %q", lambda x: signed(x) % -3),
        ("%s = OpBitcast %int %x\n%q = OpSRem %int %s %m3\n%r = OpBitcast %uint %q",
         lambda x: abs(signed(x)) % 3 * (1 if signed(x) >= 0 else -1)),
        ("%p = OpIAddCarry %pair %x %x\n%r = OpCompositeExtract %uint %p 1", lambda x: x >> 31),
        ("%p = OpUMulExtended %pair %x %x\n%r = OpCompositeExtract %uint %p 1", lambda x: x * x >> 32),
        ("%p = OpISubBorrow %pair %c2 %x\n%r = OpCompositeExtract %uint %p 1", lambda x: int(x > 2)),
        ("%r = OpBitFieldUExtract %uint %x %c3 %c7", lambda x: x >> 3 & 127),
        ("%s = OpBitcast %int %x\n%q = OpBitFieldSExtract %int %s %c1 %c3\n%r = OpBitcast %uint %q",
         lambda x: (x >> 1 & 7) - (8 if x >> 3 & 1 else 0)),
        ("%r = OpBitFieldInsert %uint %x %c1 %c3 %c2", lambda x: x & ~0x18 | 0x08),
        ("%e = OpExtInst %uint %glsl FindILsb %x\n%r = OpCopyObject %uint %e",
         lambda x: (x & -x).bit_length() - 1),
        ("%r = OpExtInst %uint %glsl FindUMsb %x", lambda x: x.bit_length() - 1),
        ("%r = OpExtInst %uint %glsl FindSMsb %x", lambda x: (signed(x) if signed(x) >= 0 else ~signed(x)).bit_length() - 1),
        ("%v = OpCompositeConstruct %v2uint %x %c7\n%l = OpBitcast %ulong %v\n%s = OpShiftRightLogical %ulong %l %c3\n"
         "%w = OpBitcast %v2uint %s\n%r = OpCompositeExtract %uint %w 0", lambda x: (x | 7 << 32) >> 3),
        ("%v = OpBitcast %v4uchar %x\n%w = OpVectorShuffle %v4uchar %v %v 3 2 5 4\n%r = OpBitcast %uint %w",
         lambda x: int.from_bytes([x >> 24, x >> 16 & 255, x >> 8 & 255, x & 255], "little")),
        ("%v = OpCompositeConstruct %v4uint %x %c1 %c2 %c3\n%a = OpBitwiseAnd %uint %x %c3\n"
         "%r = OpVectorExtractDynamic %uint %v %a", lambda x: [x, 1, 2, 3][x & 3]),
        ("%v = OpCompositeConstruct %v4uint %c0 %c1 %c2 %c3\n%a = OpBitwiseAnd %uint %x %c3\n"
         "%w = OpVectorInsertDynamic %v4uint %v %x %a\n%r = OpCompositeExtract %uint %w 2",
         lambda x: x if x & 3 == 2 else 2),
        ("%d = OpUDot %uint %x %k PackedVectorFormat4x8Bit\n%r = OpCopyObject %uint %d",
         lambda x: sum((x >> 8 * i & 255) * (0x01020304 >> 8 * i & 255) for i in range(4))),
        ("%n = OpUConvert %uchar %x\n%m = OpIMul %uchar %n %n\n%r = OpUConvert %uint %m", lambda x: (x & 255) ** 2 & 255),
        ("%n = OpUConvert %ushort %x\n%m = OpShiftLeftLogical %ushort %n %c3\n%r = OpUConvert %uint %m",
         lambda x: x << 3 & 0xFFFF),
        ("%r = OpSelect %uint %yes %x %c0", lambda x: x),
        ("%t = OpCompositeConstruct %pair %x %c1\n%u = OpCompositeConstruct %pair %c2 %c3\n%b = OpULessThan %bool %x %c7\n"
         "%s = OpSelect %pair %b %t %u\n%r = OpCompositeExtract %uint %s 0", lambda x: x if x < 7 else 2),
        ("%f = OpConvertUToF %float %c7\n%h = OpFConvert %half %f\n%g = OpFConvert %float %h\n%r = OpConvertFToU %uint %g",
         lambda x: 7),
        ("%p = OpExtInst %uint %glsl UClamp %x %c2 %c7\n%r = OpCopyObject %uint %p", lambda x: min(max(x, 2), 7)),
    ],
)
def test_integer_instructions(assemble: Assemble, expression: str, model: Callable[[int], int]) -> None:
    words = assemble(module(
        expression + "\nOpStore %to %r",
        globals="%m3 = OpConstant %int -3\n%pair = OpTypeStruct %uint %uint\n%k = OpConstant %uint 0x01020304\n"
                "%yes = OpConstantTrue %bool",
        decorations="",
    ).replace("OpCapability Int64", "OpCapability Int64\nOpCapability DotProduct\nOpCapability DotProductInput4x8BitPacked"
              '\nOpExtension "SPV_KHR_integer_dot_product"'))
    assert run(words, VALUES) == [model(x) & 0xFFFFFFFF for x in VALUES]


FLOAT_VALUES = [0.25, -0.75, 1.5, -3.0, 0.0, 1e-3, 0.999, 12.0]


@pytest.mark.parametrize(
    ("name", "model", "domain"),
    [
        ("Asin", numpy.arcsin, 1.0), ("Acos", numpy.arccos, 1.0), ("Atan", numpy.arctan, None),
        ("Sinh", numpy.sinh, None), ("Cosh", numpy.cosh, None), ("Tanh", numpy.tanh, None),
        ("Asinh", numpy.arcsinh, None), ("Exp", numpy.exp, None), ("Tan", numpy.tan, None),
        ("Radians", numpy.radians, None), ("Degrees", numpy.degrees, None), ("Fract", lambda x: x - numpy.floor(x), None),
    ],
)
def test_float_functions(assemble: Assemble, name: str, model: Callable[..., Any], domain: float | None) -> None:
    words = assemble(module(
        f"%f = OpBitcast %float %x\n%g = OpExtInst %float %glsl {name} %f\n%r = OpBitcast %uint %g\nOpStore %to %r"
    ))
    values = numpy.array(FLOAT_VALUES, numpy.float32)
    if domain:
        values = numpy.clip(values, -domain, domain)
    result = numpy.array(run(words, values.view(numpy.uint32).tolist()), numpy.uint32).view(numpy.float32)
    numpy.testing.assert_allclose(result, model(values.astype(float)), rtol=3e-6, atol=1e-6)


def test_arctangent_of_two(assemble: Assemble) -> None:
    words = assemble(module(
        "%f = OpBitcast %float %x\n%g = OpExtInst %float %glsl Atan2 %f %k\n%r = OpBitcast %uint %g\nOpStore %to %r",
        globals="%k = OpConstant %float -0.5",
    ))
    values = numpy.array([0.5, -0.5, 1e30, -1e30, 1e-30, 0.1, -7.0, numpy.inf], numpy.float32)
    result = numpy.array(run(words, values.view(numpy.uint32).tolist()), numpy.uint32).view(numpy.float32)
    numpy.testing.assert_allclose(result, numpy.arctan2(values.astype(float), -0.5), rtol=2e-6)


def test_matrix_functions(assemble: Assemble) -> None:
    words = assemble(module(
        """
        %f = OpConvertUToF %float %i
        %d = OpFAdd %float %f %two
        %a = OpCompositeConstruct %v2float %d %one
        %b = OpCompositeConstruct %v2float %two %d
        %m = OpCompositeConstruct %mat %a %b
        %inverse = OpExtInst %mat %glsl MatrixInverse %m
        %product = OpMatrixTimesMatrix %mat %m %inverse
        %t = OpTranspose %mat %product
        %det = OpExtInst %float %glsl Determinant %t
        %hundred = OpFMul %float %det %k
        %rounded = OpExtInst %float %glsl RoundEven %hundred
        %r = OpConvertFToU %uint %rounded
        OpStore %to %r
        """,
        globals="%mat = OpTypeMatrix %v2float 2\n%two = OpConstant %float 2.5\n%one = OpConstant %float 1\n"
                "%k = OpConstant %float 100",
    ))
    assert run(words, VALUES) == [100] * 8


def test_switch_falls_through_in_any_order(assemble: Assemble) -> None:
    """Cases that fall into one another, a default in the middle, breaks out of nested selections."""
    words = assemble(module(
        """
        OpStore %v %c0
        OpSelectionMerge %merge None
        OpSwitch %x %default 1 %one 2 %two 7 %seven
        %one = OpLabel
        %a = OpLoad %uint %v
        %a1 = OpIAdd %uint %a %c1
        OpStore %v %a1
        OpBranch %default
        %default = OpLabel
        %b = OpLoad %uint %v
        %b1 = OpIAdd %uint %b %ten
        OpStore %v %b1
        %big = OpUGreaterThan %bool %x %c7
        OpSelectionMerge %inner None
        OpBranchConditional %big %leave %inner
        %leave = OpLabel
        OpBranch %merge
        %inner = OpLabel
        OpBranch %two
        %two = OpLabel
        %c = OpLoad %uint %v
        %cc1 = OpIAdd %uint %c %hundred
        OpStore %v %cc1
        OpBranch %merge
        %seven = OpLabel
        OpStore %v %c7
        OpBranch %merge
        %merge = OpLabel
        %r = OpLoad %uint %v
        OpStore %to %r
        """,
        globals="%ten = OpConstant %uint 10\n%hundred = OpConstant %uint 100", locals="%v = OpVariable %fuint Function",
    ))
    model = {0: 110, 1: 111, 2: 100, 7: 7}
    assert run(words, VALUES) == [model.get(x, 10) for x in VALUES]


def test_loop_with_phis_and_a_continue_construct(assemble: Assemble) -> None:
    """Sum of odd numbers below min(x, 7): phis at the header, a continue construct with work, a break with a value."""
    words = assemble(module(
        """
        OpBranch %header
        %header = OpLabel
        %n = OpPhi %uint %c0 %entry %n1 %continue
        %sum = OpPhi %uint %c0 %entry %next %continue
        OpLoopMerge %exit %continue None
        OpBranch %body
        %body = OpLabel
        %more = OpULessThan %bool %n %limit
        OpBranchConditional %more %test %exit
        %test = OpLabel
        %bit = OpBitwiseAnd %uint %n %c1
        %odd = OpIEqual %bool %bit %c1
        OpSelectionMerge %skip None
        OpBranchConditional %odd %add %skip
        %add = OpLabel
        %plus = OpIAdd %uint %sum %n
        OpBranch %continue
        %skip = OpLabel
        OpBranch %continue
        %continue = OpLabel
        %next = OpPhi %uint %plus %add %sum %skip
        %n1 = OpIAdd %uint %n %c1
        OpBranch %header
        %exit = OpLabel
        %r = OpIMul %uint %sum %c2
        OpStore %to %r
        """,
        locals="",
    ).replace("%x = OpLoad %uint %from", "%x = OpLoad %uint %from\n%limit = OpExtInst %uint %glsl UMin %x %c7"))
    assert run(words, VALUES) == [2 * sum(n for n in range(min(x, 7)) if n & 1) for x in VALUES]


def test_return_inside_nested_loops_of_a_function(assemble: Assemble) -> None:
    words = assemble(module(
        "%r = OpFunctionCall %uint %f %x\nOpStore %to %r",
        globals="%tf = OpTypeFunction %uint %uint\n%ten = OpConstant %uint 10",
        functions="""
        %f = OpFunction %uint None %tf
        %p = OpFunctionParameter %uint
        %fe = OpLabel
        OpBranch %h1
        %h1 = OpLabel
        %n = OpPhi %uint %c0 %fe %n1 %k1
        OpLoopMerge %m1 %k1 None
        OpBranch %b1
        %b1 = OpLabel
        %sq = OpIMul %uint %n %n
        OpBranch %h2
        %h2 = OpLabel
        %j = OpPhi %uint %c0 %b1 %j1 %k2
        OpLoopMerge %m2 %k2 None
        OpBranch %b2
        %b2 = OpLabel
        %s = OpIAdd %uint %sq %j
        %found = OpIEqual %bool %s %p
        OpSelectionMerge %on None
        OpBranchConditional %found %hit %on
        %hit = OpLabel
        OpReturnValue %n
        %on = OpLabel
        OpBranch %k2
        %k2 = OpLabel
        %j1 = OpIAdd %uint %j %c1
        %again = OpULessThan %bool %j1 %c3
        OpBranchConditional %again %h2 %m2
        %m2 = OpLabel
        OpBranch %k1
        %k1 = OpLabel
        %n1 = OpIAdd %uint %n %c1
        %more = OpULessThan %bool %n1 %ten
        OpBranchConditional %more %h1 %m1
        %m1 = OpLabel
        OpReturnValue %ten
        OpFunctionEnd
        """,
    ))

    def model(x: int) -> int:
        return next((n for n in range(10) for j in range(3) if n * n + j == x), 10)

    values = [0, 1, 2, 7, 83, 81, 50, 51]
    assert run(words, values) == [model(x) for x in values]


def test_value_survives_flags(assemble: Assemble) -> None:
    """A value made before an early return of one way, used where both ways join: it must be carried over."""
    words = assemble(module(
        """
        OpSelectionMerge %merge None
        OpSwitch %c0 %work
        %work = OpLabel
        %small = OpULessThan %bool %x %c2
        OpSelectionMerge %rest None
        OpBranchConditional %small %early %rest
        %early = OpLabel
        OpStore %to %c7
        OpReturn
        %rest = OpLabel
        %value = OpIMul %uint %x %c3
        %even = OpUMod %uint %x %c2
        %is = OpIEqual %bool %even %c0
        OpSelectionMerge %end None
        OpBranchConditional %is %out1 %end
        %out1 = OpLabel
        OpBranch %merge
        %end = OpLabel
        OpBranch %merge
        %merge = OpLabel
        %r = OpIAdd %uint %value %c1
        OpStore %to %r
        """
    ))
    assert run(words, VALUES) == [7 if x < 2 else x * 3 + 1 & 0xFFFFFFFF for x in VALUES]


def test_specialization(assemble: Assemble) -> None:
    words = assemble(module(
        "%r = OpIAdd %uint %x %sum\nOpStore %to %r",
        decorations='OpName %a "a"\nOpName %b "b"\nOpDecorate %a SpecId 3\nOpDecorate %b SpecId 4\n'
                    "OpDecorate %h SpecId 5\nOpDecorate %yes SpecId 6",
        globals="""
        %b3 = OpConstant %int 3
        %a = OpSpecConstant %uint 5
        %b = OpSpecConstant %int -2
        %h = OpSpecConstant %float 1.5
        %yes = OpSpecConstantTrue %bool
        %prod = OpSpecConstantOp %uint IMul %a %c3
        %rem = OpSpecConstantOp %int SMod %b %b3
        %urem = OpSpecConstantOp %uint UConvert %rem
        %pick = OpSpecConstantOp %uint Select %yes %prod %c1
        %sum = OpSpecConstantOp %uint IAdd %pick %rem
        """,
    ))
    assert run(words, VALUES) == [x + 15 + 1 & 0xFFFFFFFF for x in VALUES]
    assert run(words, VALUES, specialization={3: 7, 4: -1, 6: True}) == [x + 21 + 2 & 0xFFFFFFFF for x in VALUES]
    assert run(words, VALUES, specialization={6: False}) == [x + 2 & 0xFFFFFFFF for x in VALUES]
    constants = spirv.reflect(words, specialization={5: 0.25})["spec_constants"]
    assert constants[3] == {"name": "a", "type": "uint32", "default": 5, "value": 5}
    assert constants[4] == {"name": "b", "type": "int32", "default": -2, "value": -2}
    assert constants[5] == {"name": "", "type": "float32", "default": 1.5, "value": 0.25}
    assert constants[6] == {"name": "", "type": "bool", "default": True, "value": True}
    with pytest.raises(InputError, match="specialization constants \\[9\\]"):
        spirv.read(words, specialization={9: 1})
    with pytest.raises(InputError, match="does not fit"):
        spirv.read(words, specialization={3: 1 << 40})


def test_variable_pointers_and_workgroup_zero(assemble: Assemble) -> None:
    words = assemble(module(
        """
        %other = OpAccessChain %puint %in %c0 %c3
        %odd = OpBitwiseAnd %uint %x %c1
        %is = OpIEqual %bool %odd %c1
        %chosen = OpSelect %puint %is %from %other
        %v = OpLoad %uint %chosen
        %slot = OpAccessChain %wuint %shared %i
        %zero = OpLoad %uint %slot
        %r = OpIAdd %uint %v %zero
        OpStore %to %r
        """,
        interface="%shared",
        globals="%c9 = OpConstant %uint 9\n%warray = OpTypeArray %uint %c9\n%pw = OpTypePointer Workgroup %warray\n"
                "%wuint = OpTypePointer Workgroup %uint\n%null = OpConstantNull %warray\n"
                "%shared = OpVariable %pw Workgroup %null",
    ))
    assert run(words, VALUES) == [x if x & 1 else VALUES[3] for x in VALUES]


def test_pointer_in_a_phi_and_in_a_variable(assemble: Assemble) -> None:
    """A buffer pointer that a loop moves on, kept in a phi and in a Function variable."""
    words = assemble(module(
        """
        OpStore %keep %from
        OpBranch %header
        %header = OpLabel
        %p = OpPhi %puint %from %entry %other %continue
        %n = OpPhi %uint %c0 %entry %n1 %continue
        OpLoopMerge %exit %continue None
        OpBranch %body
        %body = OpLabel
        %other = OpAccessChain %puint %in %c0 %n
        %done = OpUGreaterThanEqual %bool %n %c3
        OpBranchConditional %done %exit %continue
        %continue = OpLabel
        %n1 = OpIAdd %uint %n %c1
        OpBranch %header
        %exit = OpLabel
        %a = OpLoad %uint %p
        %kept = OpLoad %puint %keep
        %b = OpLoad %uint %kept
        %r = OpIAdd %uint %a %b
        OpStore %to %r
        """,
        globals="%fptr = OpTypePointer Function %puint", locals="%keep = OpVariable %fptr Function",
    ))
    assert run(words, VALUES) == [x + VALUES[2] & 0xFFFFFFFF for x in VALUES]


def test_a_pointer_to_something_of_another_type_is_refused(assemble: Assemble) -> None:
    """A block copied as a pointer to an integer: what is loaded is a block, whatever the pointer's type says."""
    words = assemble(module("%copy = OpCopyObject %puint %in\n%v = OpLoad %uint %copy\n%r = OpIAdd %uint %v %c1\nOpStore %to %r"))
    with pytest.raises(InputError, match="the pointer points to something of another type"):
        spirv.read(words)


def test_workgroup_blocks_share_their_memory(assemble: Assemble) -> None:
    """SPV_KHR_workgroup_memory_explicit_layout: what is stored through one block is read through the other."""
    words = assemble(module(
        """
        %slot = OpAccessChain %wuint %first %c0 %i
        OpStore %slot %x
        %low = OpAccessChain %wshort %second %c1 %twice
        %v = OpLoad %ushort %low
        %r = OpUConvert %uint %v
        OpStore %to %r
        """,
        interface="%first %second",
        decorations="OpDecorate %w1 Block\nOpMemberDecorate %w1 0 Offset 0\nOpDecorate %a4 ArrayStride 4\n"
                    "OpDecorate %w2 Block\nOpMemberDecorate %w2 0 Offset 32\nOpMemberDecorate %w2 1 Offset 0\n"
                    "OpDecorate %a2 ArrayStride 2",
        globals="%c8 = OpConstant %uint 8\n%c16 = OpConstant %uint 16\n%a4 = OpTypeArray %uint %c8\n"
                "%a2 = OpTypeArray %ushort %c16\n%w1 = OpTypeStruct %a4\n%w2 = OpTypeStruct %uint %a2\n"
                "%pw1 = OpTypePointer Workgroup %w1\n%pw2 = OpTypePointer Workgroup %w2\n"
                "%wuint = OpTypePointer Workgroup %uint\n%wshort = OpTypePointer Workgroup %ushort\n"
                "%first = OpVariable %pw1 Workgroup\n%second = OpVariable %pw2 Workgroup",
    ).replace("%to = Op", "%twice = OpIMul %uint %i %c2\n%to = Op"))
    assert run(words, VALUES) == [x & 0xFFFF for x in VALUES]


def test_decoration_groups(assemble: Assemble) -> None:
    words = assemble(
        module("%r = OpIAdd %uint %x %c1\nOpStore %to %r", decorations="%g = OpDecorationGroup\nOpGroupDecorate %g %in")
        .replace("OpDecorate %in DescriptorSet 0\nOpDecorate %in Binding 0\n", "OpDecorate %g DescriptorSet 3\n"
                 "OpDecorate %g Binding 4\n")
    )
    assert spirv.reflect(words)["descriptor_sets"] == {
        0: {1: {"type": "ssbo", "count": 1}}, 3: {4: {"type": "ssbo", "count": 1}},
    }


def test_composites_in_and_out_of_variables(assemble: Assemble) -> None:
    words = assemble(module(
        """
        %v0 = OpCompositeConstruct %v4uint %x %c1 %c2 %c3
        %arr = OpCompositeConstruct %av %v0 %v0
        %arr2 = OpCompositeInsert %av %c7 %arr 1 2
        %s = OpCompositeConstruct %st %arr2 %x
        OpStore %v %s
        %idx = OpBitwiseAnd %uint %x %c1
        %e = OpAccessChain %fuint %v %c0 %idx %c2
        %a = OpLoad %uint %e
        %w = OpAccessChain %fuint %v %c0 %idx %idx
        OpStore %w %a
        OpCopyMemory %u %v
        %t = OpLoad %st %u
        %b = OpCompositeExtract %uint %t 0 1 1
        %r = OpIAdd %uint %a %b
        OpStore %to %r
        """,
        globals="%av = OpTypeArray %v4uint %c2\n%st = OpTypeStruct %av %uint\n%pst = OpTypePointer Function %st",
        locals="%v = OpVariable %pst Function\n%u = OpVariable %pst Function",
    ))
    # Odd lanes read element 1 (whose component 2 is 7) and store it to element 1, component 1.
    assert run(words, VALUES) == [14 if x & 1 else 3 for x in VALUES]


def test_reflection() -> None:
    facts = spirv.reflect((SHADERS[0].parent / "saxpy.spv").read_bytes())
    assert facts["entry"] == "main" and facts["stage"] == "compute"
    assert facts["descriptor_sets"][0][0] == {"type": "ssbo", "count": 1}
    assert facts["push_constant_bytes"] > 0
    assert facts["workgroup_size"][1:] == [1, 1]


def test_entry_points_are_found_by_name() -> None:
    words = (SHADERS[0].parent / "saxpy.spv").read_bytes()
    assert spirv.entry_points(words) == [("main", "compute")]
    with pytest.raises(InputError, match="no compute shader entry point 'other'; it has: main"):
        spirv.read(words, entry="other")
    with pytest.raises(InputError, match="no fragment shader"):
        spirv.read(words, stage="fragment")


def test_byte_order_does_not_matter() -> None:
    words = (SHADERS[0].parent / "saxpy.spv").read_bytes()
    swapped = numpy.frombuffer(words, "<u4").byteswap().tobytes()
    assert print_shader(spirv.read(swapped)).split("decl", 1)[1] == print_shader(spirv.read(words)).split("decl", 1)[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("OpStore %to %r", "OpStore %r %to"), "id \\d+ is not a pointer"),
        (("%r = OpIAdd %uint %x %c1", "%r = OpIAdd %uint %x %x64"), "an operand of 64 bits does not match"),
        (("%r = OpIAdd %uint %x %c1", "%r = OpFAdd %uint %x %main"), "id \\d+ is not a value"),
        (("%r = OpIAdd %uint %x %c1", "%r = OpCompositeExtract %uint %x 0"), "element 0 does not exist"),
        (("%r = OpIAdd %uint %x %c1", "%r = OpFunctionCall %uint %main"), "recursion"),
    ],
)
def test_errors_name_word_and_instruction(assemble: Assemble, change: tuple[str, str], message: str) -> None:
    text = module("%r = OpIAdd %uint %x %c1\nOpStore %to %r", globals="%x64 = OpConstant %ulong 1").replace(*change)
    with pytest.raises(InputError, match=f"SPIR-V word \\d+: {message}.*\\(Op\\w+\\)"):
        spirv.read(assemble(text))


IMAGE = """%img = OpTypeImage %float 2D 0 0 0 2 Rgba8
%pimg = OpTypePointer UniformConstant %img
%var = OpVariable %pimg UniformConstant
%tex = OpTypeImage %float 3D 0 0 0 1 Unknown
%smp = OpTypeSampler
%sampled = OpTypeSampledImage %tex
%ptex = OpTypePointer UniformConstant %tex
%psmp = OpTypePointer UniformConstant %smp
%vtex = OpVariable %ptex UniformConstant
%vsmp = OpVariable %psmp UniformConstant
%zero = OpConstant %float 0
%at = OpConstantComposite %v3float %zero %zero %zero
%xy = OpConstantComposite %v2uint %c1 %c1
"""


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ("%h = OpLoad %img %var\n%j = OpImageRead %v4float %h %c1", InputError, "a coordinate of fewer than 2 components"),
        ("%h = OpLoad %img %var\n%j = OpImageRead %v4float %h %xy Sample %c1", InputError, "names a sample of multisampled images alone"),
        ("%h = OpLoad %img %var\n%j = OpImageRead %v4float %h %xy Bias %zero", InputError, "image operands that the instruction does not take"),
        ("%h = OpLoad %tex %var", InputError, "a different type"),
        ("%h = OpLoad %tex %vtex\n%j = OpImageRead %v4float %h %xy", InputError, "of the wrong type"),
        ("%h = OpLoad %tex %vtex\n%s = OpLoad %smp %vsmp\n%j = OpSampledImage %sampled %h %s\n"
         "%k = OpImageSampleDrefExplicitLod %float %j %at %zero Lod %zero", InputError, "dimensions that have none"),
        ("%h = OpLoad %tex %vtex\n%s = OpLoad %smp %vsmp\n%j = OpSampledImage %sampled %h %s\n"
         "%k = OpImageGather %v4float %j %at %c1", InputError, "neither two-dimensional nor a cube"),
        ("%h = OpLoad %tex %vtex\n%s = OpLoad %smp %vsmp\n%j = OpSampledImage %sampled %h %s\n"
         "%k = OpImageSampleExplicitLod %v4float %j %at Bias|Grad %zero %at %at", InputError, "given by either Lod or Grad"),
        ("%h = OpLoad %tex %vtex\n%s = OpLoad %smp %vsmp\n%j = OpSampledImage %sampled %h %s\n"
         "%k = OpImageSampleImplicitLod %v4float %j %at Lod %zero", InputError, "where the level of detail is implicit"),
        ("%h = OpLoad %tex %vtex\n%s = OpLoad %smp %vsmp\n%j = OpSampledImage %sampled %h %s\n"
         "%k = OpImageSampleExplicitLod %v4float %j %at Lod|Sample %zero %c1", InputError, "image operands that the instruction does not take"),
        ("%h = OpLoad %tex %vtex\n%s = OpLoad %smp %vsmp\n%j = OpSampledImage %sampled %h %s\n"
         "%k = OpImageSampleExplicitLod %v4float %j %n3 Lod %zero", InputError, "integers where floats are due"),
        ("%h = OpLoad %tex %vtex\n%k = OpImageFetch %v4float %h %at", InputError, "integers where floats are due or the reverse"),
        ("%h = OpLoad %img %var\n%j = OpImageRead %v4ushort %h %xy", InputError, "a texel of 16 bits"),
        ("%h = OpLoad %img %var\n%j = OpImageRead %v4double %h %xy", InputError, "a texel of 64 bits"),
        ("%h = OpLoad %sub %vsub", InputError, "an input attachment in a compute shader"),
        ("%h = OpLoad %tex %vtex\n%k = OpFragmentMaskFetchAMD %uint %h %xy", InputError, "an image that is not multisampled"),
        ("%h = OpLoad %img %var\n%j = OpSelect %img %true %h %h\n%k = OpImageRead %v4float %j %xy", UnsupportedError, "values of type OpTypeImage"),
    ],
)
def test_images_that_are_wrong(assemble: Assemble, body: str, error: type[Exception], message: str) -> None:
    globals_ = IMAGE + ("%true = OpConstantTrue %bool\n" if "%true" in body else "")
    globals_ += ("%v3uint = OpTypeVector %uint 3\n%n3 = OpConstantNull %v3uint\n"
                 "%v4double = OpTypeVector %double 4\n%sub = OpTypeImage %float SubpassData 0 0 0 2 Unknown\n"
                 "%psub = OpTypePointer UniformConstant %sub\n%vsub = OpVariable %psub UniformConstant\n")
    with pytest.raises(error, match=message):
        spirv.read(assemble(module(body + "\nOpStore %to %x", globals=globals_)))


def test_implicit_levels_and_derivatives_need_derivative_groups(assemble: Assemble) -> None:
    """Without one, lowering makes an implicit level level 0, and OpDPdx is wrong."""
    body = ("%h = OpLoad %tex %vtex\n%s = OpLoad %smp %vsmp\n%j = OpSampledImage %sampled %h %s\n"
            "%k = OpImageSampleImplicitLod %v4float %j %at\nOpStore %to %x")
    derived = module(body + "\n%d = OpDPdx %v3float %at\n%w = OpFwidthFine %v3float %at", globals=IMAGE)
    text = module(body, globals=IMAGE)

    def lowered(text: str) -> str:
        shader = spirv.read(assemble(text))
        lower_tex.run(shader)
        return print_shader(shader)

    assert "(float32)txl " in lowered(text)
    with pytest.raises(InputError, match="no derivative group"):
        spirv.read(assemble(derived))
    for group, size in (("Linear", "8 1 1"), ("Quads", "4 2 1")):
        head = f'OpCapability ComputeDerivativeGroup{group}NV\nOpExtension "SPV_NV_compute_shader_derivatives"\n'
        mode = f"OpExecutionMode %main DerivativeGroup{group}NV\nOpExecutionMode %main LocalSize "
        grouped = head + derived.replace("OpExecutionMode %main LocalSize 8 1 1", mode + size, 1)
        found = lowered(grouped)
        assert "(float32)tex " in found and "fddx %" in found and "fddx_fine %" in found and "fddy_fine %" in found
        with pytest.raises(InputError, match=f"DerivativeGroup{group} takes"):
            spirv.read(assemble(grouped.replace(f"LocalSize {size}", "LocalSize 3 2 1")))
        with pytest.raises(InputError, match="the derivative of what is not a 32-bit float"):
            wrong = grouped.replace("OpDPdx %v3float %at", "OpDPdx %v4uint %n4").replace("%at = ", "%n4 = OpConstantNull %v4uint\n%at = ")
            spirv.read(assemble(wrong))


def test_access_chains_without_indices(assemble: Assemble) -> None:
    """Also of built-ins; one that picks a component ends there."""
    words = assemble(module("%p0 = OpAccessChain %pin %id\n%p1 = OpInBoundsAccessChain %pin %p0\n%j = OpLoad %uint %p1\nOpStore %to %j"))
    assert run(words, VALUES) == list(range(8))
    with pytest.raises(InputError, match="takes one index"):
        spirv.read(assemble(module("%p0 = OpAccessChain %pin %id %c0\n%p1 = OpAccessChain %pin %p0 %c0\nOpStore %to %x")))


def test_nonsemantic_instructions_may_follow_a_terminator(assemble: Assemble) -> None:
    """DXC writes DebugNoScope there. Others may not stand outside of blocks."""
    text = module("%r = OpIAdd %uint %x %c1\nOpStore %to %r")
    imported = 'OpExtension "SPV_KHR_non_semantic_info"\n%set = OpExtInstImport "NonSemantic.Anything"\nOpMemoryModel'
    words = assemble(text.replace("OpMemoryModel", imported, 1).replace("OpReturn\nOpFunctionEnd", "OpReturn\n%e = OpExtInst %void %set 24\n"
                                                                       "OpFunctionEnd", 1))
    assert b"NonSemantic" in words
    assert run(words, VALUES) == [x + 1 & 0xFFFFFFFF for x in VALUES]
    with pytest.raises(InputError, match="outside a block"):
        spirv.read(assemble(text.replace("OpReturn\nOpFunctionEnd", "OpReturn\n%e = OpIAdd %uint %c1 %c1\nOpFunctionEnd", 1)))


def test_wide_id_bound_costs_nothing() -> None:
    words = numpy.frombuffer((SHADERS[0].parent / "saxpy.spv").read_bytes(), "<u4").copy()
    words[3] = 4194304
    spirv.read(words.tobytes())
    words[3] += 1
    with pytest.raises(InputError, match="id bound"):
        spirv.read(words.tobytes())
