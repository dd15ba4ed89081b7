"""What is valid SPIR-V and not supported is named as such; only what no SPIR-V is, is malformed."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest
from module_words import ENUMERANTS, OPCODES, Module, enumerant, text

from pyaco import InputError, UnsupportedError, spirv
from pyaco.cli import main

SHAPES = {row[1]: row[2] for row in (line.split() for line in (resources.files("pyaco.spirv") / "data/opcodes.txt").read_text().splitlines())
          if row[0] != "#"}
#: Instructions of extensions that the reader has.
SUPPORTED = {"SubgroupBallotKHR", "SubgroupFirstInvocationKHR", "SubgroupAllKHR", "SubgroupAnyKHR", "SubgroupAllEqualKHR",
             "SubgroupReadInvocationKHR", "SDot", "UDot", "SUDot", "SDotAccSat", "UDotAccSat", "SUDotAccSat", "AssumeTrueKHR", "ExpectKHR",
             "ReadClockKHR", "AtomicFMinEXT", "AtomicFMaxEXT", "AtomicFAddEXT", "ExtInstWithForwardRefsKHR", "FragmentMaskFetchAMD",
             "FragmentFetchAMD", "GroupNonUniformQuadAllKHR", "GroupNonUniformQuadAnyKHR", "GroupNonUniformPartitionNV",
             "CompositeConstructReplicateEXT", "ControlBarrierArriveINTEL", "ControlBarrierWaitINTEL", "UntypedAccessChainKHR",
             "UntypedInBoundsAccessChainKHR", "UntypedPtrAccessChainKHR", "UntypedInBoundsPtrAccessChainKHR", "UntypedArrayLengthKHR",
             "TypeCooperativeMatrixKHR", "FmaKHR", "UCountLeadingZerosINTEL", "UCountTrailingZerosINTEL", "AbsISubINTEL", "AbsUSubINTEL",
             "IAddSatINTEL", "UAddSatINTEL", "ISubSatINTEL", "USubSatINTEL", "IAverageINTEL", "UAverageINTEL", "IAverageRoundedINTEL",
             "UAverageRoundedINTEL", "IMul32x16INTEL", "UMul32x16INTEL"}
TERMINATORS = {"TerminateInvocation", "IgnoreIntersectionKHR", "TerminateRayKHR", "EmitMeshTasksEXT"}
EXTENSIONS = [name for name, number in OPCODES.items() if number >= 4096]
NUMBERS = {"L": 0, "E": 0, "S": 0, "M": 0, "D": 0}


def module(name: str, section: str) -> Module:
    """A module with an instruction whose operands have the shape that the table says, and no meaning."""
    m = Module((1, 1, 1))
    operands: list[int] = []
    for letter in SHAPES[name]:
        if letter in NUMBERS:
            operands.append(NUMBERS[letter])
        elif letter in "TRI":
            operands.append(m.uint() if letter == "T" else m.id() if letter == "R" else m.constant(1))
        elif letter in "PQU":
            operands += [m.constant(1)] * 2
    m.emit(getattr(m, section), name, *operands)
    return m


@pytest.mark.parametrize("name", [name for name in EXTENSIONS if name not in SUPPORTED])
def test_extensions_are_named(name: str) -> None:
    m = module(name, "body")
    words = m.words()
    if name in TERMINATORS:
        words = words[:-8] + words[-4:]     # in place of OpReturn
    with pytest.raises(UnsupportedError, match=f"Op{name}"):
        spirv.read(words)


def test_types_are_refused_where_they_are_used() -> None:
    """A type alone is harmless; a value of it is not."""
    for name in set(EXTENSIONS) - SUPPORTED:
        if name.startswith("Type") and SHAPES[name].startswith("R") and name != "TypeForwardPointer":
            spirv.read(module(name, "globals").words())
    m = Module((1, 1, 1))
    opaque = m.type("TensorARM", m.uint())
    m.op("Load", opaque, m.variable("Private", opaque))
    with pytest.raises(UnsupportedError, match="OpTypeTensorARM"):
        spirv.read(m.words())


def test_unknown_numbers_are_malformed() -> None:
    for number in (9, 4095, 60000):
        m = Module((1, 1, 1))
        m.body.append(1 << 16 | number)
        with pytest.raises(InputError, match=f"unknown opcode {number}"):
            spirv.read(m.words())
    m = Module((1, 1, 1))
    m.emit(m.head, "Capability", 60000)
    with pytest.raises(InputError, match="unknown capability 60000"):
        spirv.read(m.words())


def test_debug_information_with_forward_references() -> None:
    """At module scope and in functions, with operands that are defined later."""
    m = Module((1, 1, 1))
    debug, later = m.id(), m.id()
    m.emit(m.head, "ExtInstImport", debug, *text("NonSemantic.Shader.DebugInfo.100"))
    for section in (m.globals, m.body):
        m.emit(section, "ExtInstWithForwardRefsKHR", m.type("Void"), m.id(), debug, 7, later)
    m.emit(m.body, "Undef", m.uint(), later)
    spirv.read(m.words())


@pytest.mark.parametrize("name", ["DebugInfo", "OpenCL.DebugInfo.100"])
def test_older_debug_information(name: str) -> None:
    """The sets from before NonSemantic.* say nothing of results either; their lines, columns and flags are literals."""
    m = Module((1, 1, 1))
    debug = m.id()
    m.emit(m.head, "ExtInstImport", debug, *text(name))
    m.emit(m.globals, "ExtInst", m.type("Void"), m.id(), debug, 0)
    m.emit(m.globals, "ExtInst", m.type("Void"), m.id(), debug, 20, m.id(), m.id(), m.id(), 1000, 0, m.id(), m.id(), 1 << 30, 1)   # DebugFunction
    m.emit(m.body, "ExtInst", m.type("Void"), m.id(), debug, 24)                                                                 # DebugNoScope
    spirv.read(m.words())


def test_lengths_of_cooperative_matrices() -> None:
    """As an array's length, through a specialization constant operation."""
    m = Module((1, 1, 1))
    matrix = m.type("CooperativeMatrixNV", m.uint(), m.constant(3), m.constant(16), m.constant(16))
    length = m.id()
    m.emit(m.globals, "SpecConstantOp", m.uint(), length, OPCODES["CooperativeMatrixLengthNV"], matrix)
    m.type("Array", m.uint(), length)
    with pytest.raises(UnsupportedError, match="OpCooperativeMatrixLengthNV"):
        spirv.read(m.words())


@pytest.mark.parametrize("operation", ["AccessChain", "PtrAccessChain", "GenericCastToPtr", "UConvert", "FAdd", "ConvertFToS"])
def test_operations_on_specialization_constants(operation: str) -> None:
    m = Module((1, 1, 1))
    m.emit(m.globals, "SpecConstantOp", m.uint(), m.id(), OPCODES[operation], m.constant(1), m.constant(2))
    if operation == "UConvert":
        spirv.read(m.words())
        return
    with pytest.raises(UnsupportedError, match=f"Op{operation}"):
        spirv.read(m.words())


#: What each operation on specialization constants is given that it does not take: result, operands, and what is wrong with them.
WRONG_KINDS = [
    ("SRem", "bool", ("five", "two"), "a result that is not an integer"),       # of one bit, in which 2 is 0
    ("SDiv", "bool", ("five", "two"), "a result that is not an integer"),
    ("SMod", "uint", ("half", "half"), "operands that are not integers"),
    ("SDiv", "uint", ("five", "wide"), "operands of different widths"),         # 1 << 32
    ("IAdd", "uint", ("yes", "yes"), "operands that are not integers"),
    ("BitwiseAnd", "bool", ("yes", "yes"), "operands that are not integers"),
    ("ShiftLeftLogical", "bool", ("five", "two"), "a result that is not an integer"),
    ("ULessThan", "uint", ("five", "two"), "a comparison whose result is not boolean"),
    ("ULessThan", "bool", ("five", "wide"), "operands of different widths"),
    ("IEqual", "bool", ("half", "half"), "operands that are not integers"),
    ("LogicalAnd", "uint", ("five", "two"), "operands or a result that are not boolean"),
    ("LogicalEqual", "bool", ("five", "two"), "operands or a result that are not boolean"),
    ("UConvert", "bool", ("five",), "a result that is not an integer"),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "result", "operands", "message"), WRONG_KINDS, ids=lambda value: value if isinstance(value, str) else "")
def test_operations_on_specialization_constants_take_their_kinds_alone(operation: str, result: str, operands: tuple[str, ...], message: str) -> None:
    m = Module((1, 1, 1), "Int64")
    types = {"uint": m.uint(), "bool": m.type("Bool")}
    single, yes, half = m.type("Float", 32), m.id(), m.id()
    m.emit(m.globals, "SpecConstantTrue", types["bool"], yes)
    m.emit(m.globals, "SpecConstant", single, half, 0x3F000000)
    constants = {"five": m.constant(5), "two": m.constant(2), "wide": m.constant(1 << 32, 64), "yes": yes, "half": half}
    m.emit(m.globals, "SpecConstantOp", types[result], m.id(), OPCODES[operation], *(constants[name] for name in operands))
    with pytest.raises(InputError, match=message):
        spirv.read(m.words())


def test_storage_classes_built_ins_and_memory_operands_are_named() -> None:
    classes = {value: name.split()[1] for name, value in reversed(ENUMERANTS.items()) if name.startswith("StorageClass ")}
    known = {"UniformConstant", "Image", "Input", "Uniform", "Workgroup", "Private", "Function", "PushConstant", "StorageBuffer",
             "PhysicalStorageBuffer"}
    assert len(classes) > 20
    for storage in set(classes.values()) - known:
        m = Module((1, 1, 1))
        m.load(m.uint(), m.variable(storage, m.uint()))
        with pytest.raises(UnsupportedError, match=f"storage class {storage}"):
            spirv.read(m.words())
    for name in ("FragCoord", "VertexIndex", "PrimitiveId", "SampleMask"):
        m = Module((1, 1, 1))
        variable = m.variable("Input", m.uint())
        m.decorate(variable, "BuiltIn", enumerant("BuiltIn", name))
        m.load(m.uint(), variable)
        with pytest.raises(UnsupportedError, match=f"built-in {name}"):
            spirv.read(m.words())
    m = Module((1, 1, 1))
    block = m.variable("StorageBuffer", m.struct((m.uint(), 0)), 0)
    m.op("Load", m.uint(), m.access_chain("StorageBuffer", m.uint(), block, m.constant(0)), ENUMERANTS["MemoryAccess NoAliasINTELMask"], 1)
    with pytest.raises(UnsupportedError, match=r"NoAliasINTELMask \(OpLoad\)"):
        spirv.read(m.words())


@pytest.mark.parametrize(("model", "stage"), [("Vertex", "vertex"), ("Fragment", "fragment"), ("MeshEXT", "mesh")])
def test_graphics_entry_points(model: str, stage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With and without a stage, and by the command's exit status."""
    words = Module((1, 1, 1)).words(model)
    with pytest.raises(UnsupportedError, match=rf"{stage} shaders: the module has no compute entry point, it has: main \({stage}\)"):
        spirv.read(words)
    with pytest.raises(UnsupportedError, match=f"{stage} shaders"):
        spirv.read(words, stage=stage)
    with pytest.raises(InputError, match="entry point 'other'"):
        spirv.read(words, entry="other")
    path = tmp_path / "module.spv"
    path.write_bytes(words)
    assert main(["compile", str(path)]) == 3
    assert stage in capsys.readouterr().err
