"""What LLVM makes of instructions in bulk: thousands of lines or words through one process."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from pyaco.binary import elf

#: LLVM's assembler; ``PYACO_LLVM_MC`` names that of another release, ``PYACO_LLVM_LIBRARY`` the library with its disassembler.
PROGRAM = os.environ.get("PYACO_LLVM_MC", "llvm-mc-22")
ENCODING = re.compile(r"(?:;|//) encoding: \[([^\]]+)\]")
#: An LLVM process that crashes does not write at length about it.
QUIET = os.environ | {"LLVM_DISABLE_SYMBOLIZATION": "1", "LLVM_DISABLE_CRASH_REPORT": "1"}
ERROR = re.compile(r"^<stdin>:(\d+):\d+: error: (.*)", re.M)
#: LLVM 22 refuses these lines and writes their words all the same.
COMPLAINTS_BESIDE_WORDS = ("scale_offset is not supported", "ABS not allowed in VOPD3")


#: LLVM's answer where it ends its process: LLVM 22's to some texts of ``exp``, and to the bytes of ``v_readfirstlane_b32`` to no register on GFX8.
CRASH = "crash"


def run(chip: str, source: str, *options: str) -> subprocess.CompletedProcess[str]:
    """One llvm-mc process."""
    command = [PROGRAM, "-arch=amdgcn", f"-mcpu={chip}", "-show-encoding", *options]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=False, env=QUIET)


@cache
def release() -> int:
    """The release of LLVM that is the peer; 0 where there is none."""
    if shutil.which(PROGRAM) is None:
        return 0
    found = re.search(r"version (\d+)", subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=False).stdout)
    return int(found[1]) if found else 0


@cache
def chips() -> frozenset[str]:
    """The chips that it knows, by gfx name."""
    answer = subprocess.run([PROGRAM, "-arch=amdgcn", "-mcpu=help"], input="", capture_output=True, text=True, check=False)
    return frozenset(re.findall(r"^ +(gfx[\w-]+) +- ", answer.stdout + answer.stderr, re.M))


def encodings(output: str) -> Iterator[tuple[str, bytes]]:
    """Text and bytes of the instructions of an output; no bytes where they wait for a symbol."""
    for line in output.splitlines():
        if match := ENCODING.search(line):
            text = line[: match.start()].strip()
            known = re.fullmatch(r"[0-9a-fx,]+", match[1])
            yield text, bytes(int(byte, 16) for byte in match[1].split(",")) if known else b""


def assemble(chip: str, lines: Sequence[str], *options: str) -> list[bytes | str]:
    """LLVM's bytes of each line, which must be an instruction, or its complaint; no bytes where they wait for a symbol.

    ``CRASH`` is the answer to a line that the process does not survive.
    """
    result = run(chip, "\n".join(lines) + "\n", *options)
    if result.returncode < 0 and len(lines) > 1:
        middle = len(lines) // 2
        return assemble(chip, lines[:middle], *options) + assemble(chip, lines[middle:], *options)
    if result.returncode < 0:
        return [CRASH] * len(lines)
    complaints = {int(number) - 1: message for number, message in ERROR.findall(result.stderr)}
    good = encodings(result.stdout)
    return [_answer(complaints.get(number), good) for number in range(len(lines))]


def _answer(complaint: str | None, good: Iterator[tuple[str, bytes]]) -> bytes | str:
    """What LLVM makes of the next line."""
    if complaint is None:
        return next(good)[1]
    if complaint.startswith(COMPLAINTS_BESIDE_WORDS):
        next(good)
    return complaint


def disassemble(chip: str, codes: Sequence[bytes], *options: str) -> list[str | None]:
    """LLVM's text of each instruction; None where the bytes are not exactly one, or where LLVM crashes (``disassemble_or_crash`` tells)."""
    return [None if text == CRASH else text for text in disassemble_or_crash(chip, codes, *options)]


def disassemble_or_crash(chip: str, codes: Sequence[bytes], *options: str) -> list[str | None]:
    """LLVM's text of each instruction, None where the bytes are not exactly one, ``CRASH`` where LLVM ends its process.

    The library is asked in a child process, which is forked anew behind the bytes that it does not survive.
    """
    features = ",".join(option.removeprefix("-mattr=") for option in options)
    found: list[str | None] = []
    while len(found) < len(codes):
        found += _until_crash(chip, features, codes[len(found) :])
        if len(found) < len(codes):
            found.append(CRASH)
    return found


def _until_crash(chip: str, features: str, codes: Sequence[bytes]) -> list[str | None]:
    """Texts from a child process, as far as it comes."""
    ask = _disassembler(chip, features)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            # nobody wants to read how it ends
            faulthandler.disable()
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            with os.fdopen(writer, "wb", buffering=0) as pipe:
                for code in codes:
                    size, text = ask(code, 0)
                    pipe.write((text if size == len(code) else b"") + b"\n")
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        lines = pipe.read().decode().splitlines()
    os.waitpid(child, 0)
    return [line or None for line in lines]


def undecoded(chip: str, features: str, code: bytes) -> list[str]:
    """What LLVM's disassembler does not take for an instruction in the code of a program, with its place; it is asked in this process."""
    ask, offset, found = _disassembler(chip, features), 0, []
    while offset < len(code):
        size, text = ask(code, offset)
        if not size or re.search(rb"\b[sv]_illegal\b", text):
            found.append(f"{offset:#x}: {code[offset : offset + 8].hex(' ', 4)}")
        offset += size or 4
    return found if offset == len(code) else [*found, f"it reads {offset} bytes of {len(code)}"]


@cache
def _disassembler(chip: str, features: str) -> Callable[[bytes, int], tuple[int, bytes]]:
    """LLVM's disassembler through its C interface (llvm-c/Disassembler.h): size and text of the instruction at an offset; no size where none is."""
    library = ctypes.CDLL(_library())
    for part in ("TargetInfo", "TargetMC", "Disassembler"):
        getattr(library, f"LLVMInitializeAMDGPU{part}")()
    library.LLVMCreateDisasmCPUFeatures.restype = ctypes.c_void_p
    context = library.LLVMCreateDisasmCPUFeatures(b"amdgcn", chip.encode(), features.encode(), None, 0, None, None)
    read = library.LLVMDisasmInstruction
    read.restype = ctypes.c_size_t
    read.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t]
    text = ctypes.create_string_buffer(1024)
    longest = 32                              # bytes; no instruction is longer

    def ask(code: bytes, offset: int) -> tuple[int, bytes]:
        part = code[offset : offset + longest]
        return read(context, part, len(part), offset, text, len(text)), text.value.strip()

    return ask


def assemble_program(chip: str, text: str) -> bytes:
    """Machine code that LLVM's assembler makes of a program's text, in this process: as assembly of a module that has nothing else.

    Raises
    ------
    ValueError
        What it says to text that it does not take.
    """
    library, machine = _target_machine(chip)
    complaints: list[str] = []
    heard = _DIAGNOSTIC(lambda told, _: complaints.append(ctypes.string_at(library.LLVMGetDiagInfoDescription(told)).decode()))
    context = _Pointer(library.LLVMContextCreate())
    library.LLVMContextSetDiagnosticHandler(context, heard, None)
    module = _Pointer(library.LLVMModuleCreateWithNameInContext(b"program", context))
    library.LLVMSetTarget(module, b"amdgcn")
    library.LLVMSetModuleInlineAsm2(module, text.encode(), ctypes.c_size_t(len(text.encode())))
    error, built = ctypes.c_char_p(), _Pointer()
    failed = library.LLVMTargetMachineEmitToMemoryBuffer(machine, module, 1, ctypes.byref(error), ctypes.byref(built))
    data = b"" if failed else ctypes.string_at(library.LLVMGetBufferStart(built), library.LLVMGetBufferSize(built))
    if not failed:
        library.LLVMDisposeMemoryBuffer(built)
    library.LLVMDisposeModule(module)
    library.LLVMContextDispose(context)
    if failed or complaints:
        raise ValueError("; ".join(complaints) or str(error.value))
    return next(section.data for section in elf.read_sections(data) if section.name == ".text")


_Pointer = ctypes.c_void_p
_DIAGNOSTIC = ctypes.CFUNCTYPE(None, _Pointer, _Pointer)


@cache
def _target_machine(chip: str) -> tuple[ctypes.CDLL, ctypes.c_void_p]:
    """The library with its assembler, and a machine of a chip (llvm-c/TargetMachine.h)."""
    library = ctypes.CDLL(_library())
    for part in ("TargetInfo", "Target", "TargetMC", "AsmParser", "AsmPrinter"):
        getattr(library, f"LLVMInitializeAMDGPU{part}")()
    for name in ("CreateTargetMachine", "ContextCreate", "ModuleCreateWithNameInContext", "GetBufferStart", "GetDiagInfoDescription"):
        getattr(library, f"LLVM{name}").restype = _Pointer
    library.LLVMGetBufferSize.restype = ctypes.c_size_t
    library.LLVMGetDiagInfoDescription.argtypes = [_Pointer]
    target, error = _Pointer(), ctypes.c_char_p()
    if library.LLVMGetTargetFromTriple(b"amdgcn", ctypes.byref(target), ctypes.byref(error)):
        raise ValueError(str(error.value))
    return library, _Pointer(library.LLVMCreateTargetMachine(target, b"amdgcn", chip.encode(), b"", 0, 0, 0))


@cache
def _library() -> str:
    """Path of the library that llvm-mc is linked with."""
    if named := os.environ.get("PYACO_LLVM_LIBRARY"):
        return named
    program = shutil.which(PROGRAM) or ""
    loader = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    path = re.search(r"(/\S*libLLVM\S*)", loader)
    return path[1] if path else program


def mnemonics() -> list[str]:
    """Every mnemonic of the AMD GPU assembler, from its matcher's table in the library: strings with their length in front."""
    data = Path(_library()).read_bytes()
    word = re.compile(rb"[a-z0-9_]+")
    first = data.index(b"\x09s_abs_i32")
    while before := [n for n in range(1, 64) if data[first - n - 1] == n and word.fullmatch(data, first - n, first)]:
        first -= before[0] + 1
    found = []
    while word.fullmatch(data, first + 1, first + 1 + data[first]):
        found.append(data[first + 1 : first + 1 + data[first]].decode())
        first += 1 + data[first]
    return found
