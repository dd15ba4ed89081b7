"""How long calls inside a loaded library take: ACO's passes while RADV compiles.

A library that is not stripped says where its functions are. The call instructions of some of them that lead to others are turned to stubs, which
read the processor's counter before and after the call and jump to where it led; so nothing is built anew, and each call costs some 40
cycles more. Calls may nest, and must not be recursive. For x86-64.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

#: The signature of ELF, of tables of symbols; what x86-64's `call` begins with.
ELF, SYMTAB, CALL = b"\x7fELF", 2, 0xE8
#: Slots of a stub's data, 8 bytes each.
RETURN, START, TARGET, TOTAL, COUNT = range(5)
DATA_BYTES, CODE_BYTES = 64, 128
#: How far from the library stubs may stand, so that a call reaches them.
REACH = 1 << 30
MAP_FIXED_NOREPLACE = 0x100000


@dataclass(frozen=True)
class Symbol:
    """A function of a library: its mangled name, and where it is from the library's start."""

    name: str
    address: int
    size: int


def functions_of(library: Path) -> list[Symbol]:
    """The functions that a library's table of symbols has; none if it is stripped."""
    data = library.read_bytes()
    if data[:4] != ELF:
        raise ValueError(f"{library} is no ELF file")
    sections, entry_size, count = struct.unpack_from("<Q", data, 0x28)[0], *struct.unpack_from("<HH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + index * entry_size) for index in range(count)]
    found = []
    for header in headers:
        if header[1] != SYMTAB:
            continue
        names = headers[header[6]][4]
        for at in range(header[4], header[4] + header[5], 24):
            name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", data, at)
            if info & 15 == 2 and section:
                end = data.index(b"\0", names + name)
                found.append(Symbol(data[names + name : end].decode(), value, size))
    return found


def loaded(library: str) -> tuple[Path, int]:
    """The file of a library of this process, and where it begins in memory."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        fields = line.split()
        if len(fields) == 6 and Path(fields[5]).name == library and int(fields[2], 16) == 0:
            return Path(fields[5]), int(fields[0].partition("-")[0], 16)
    raise ValueError(f"{library} is not loaded")


class CallTimes:
    """Counters on the calls that some functions of a library make.

    Parameters
    ----------
    library : str
        File name of a library that this process has loaded.
    callers : iterable of str
        Functions whose calls are timed, by a part of their mangled names.
    callees : dict of str to str
        What they call, by a part of its mangled name: the name to report.
    """

    def __init__(self, library: str, callers: Iterable[str], callees: dict[str, str]) -> None:
        if platform.machine() != "x86_64":
            raise ValueError("calls are timed on x86-64 only")
        self.libc = ctypes.CDLL(None, use_errno=True)
        path, self.base = loaded(library)
        symbols = functions_of(path)
        targets = {symbol.address: callees[part] for symbol in symbols for part in callees if part in symbol.name and "cold" not in symbol.name}
        sites = [site for symbol in symbols if any(part in symbol.name for part in callers) for site in self._calls(symbol, targets)]
        if not sites:
            raise ValueError(f"{path} has no symbols, or none of these calls")
        self.names = [targets[target] for _, target in sites]
        self.memory = self._map(len(sites) * (DATA_BYTES + CODE_BYTES))
        for index, (site, target) in enumerate(sites):
            self._turn(index, site, target)

    def _calls(self, symbol: Symbol, targets: dict[int, str]) -> Iterator[tuple[int, int]]:
        """Offsets of call instructions of a function, and where they lead."""
        code = ctypes.string_at(self.base + symbol.address, symbol.size)
        for at in range(len(code) - 4):
            if code[at] == CALL:
                target = symbol.address + at + 5 + struct.unpack_from("<i", code, at + 1)[0]
                if target in targets:
                    yield symbol.address + at, target

    def _map(self, size: int) -> int:
        """Memory for stubs where the library's calls reach it."""
        self.libc.mmap.restype = ctypes.c_void_p
        self.libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
        access, flags = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_FIXED_NOREPLACE
        for wanted in range(self.base - REACH & ~0xFFFF, self.base, 1 << 22):
            found = self.libc.mmap(wanted, size, access, flags, -1, 0)
            if found == wanted:
                return wanted
        raise ValueError("no free memory near the library")

    def _turn(self, index: int, site: int, target: int) -> None:
        """Let a call instruction lead to a stub of its own."""
        data = self.memory + index * (DATA_BYTES + CODE_BYTES)
        stub = data + DATA_BYTES
        ctypes.c_uint64.from_address(data + 8 * TARGET).value = self.base + target
        code = stub_code(data, stub)
        ctypes.memmove(stub, code, len(code))
        page = self.base + site & ~(mmap.PAGESIZE - 1)
        self.libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        if self.libc.mprotect(page, 2 * mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC):
            raise OSError(ctypes.get_errno(), "mprotect")
        ctypes.c_int32.from_address(self.base + site + 1).value = stub - (self.base + site + 5)

    def start(self) -> None:
        """Set all counters to zero."""
        for index in range(len(self.names)):
            data = self.memory + index * (DATA_BYTES + CODE_BYTES)
            ctypes.c_uint64.from_address(data + 8 * TOTAL).value = ctypes.c_uint64.from_address(data + 8 * COUNT).value = 0

    def ticks(self) -> dict[str, int]:
        """Ticks of the processor's counter by name since `start`."""
        found: dict[str, int] = {}
        for index, name in enumerate(self.names):
            data = self.memory + index * (DATA_BYTES + CODE_BYTES)
            if ctypes.c_uint64.from_address(data + 8 * COUNT).value:
                found[name] = found.get(name, 0) + ctypes.c_uint64.from_address(data + 8 * TOTAL).value
        return found


def stub_code(data: int, stub: int) -> bytes:
    """Machine code of a stub at an address, with its slots at another."""
    code = bytearray()

    def slot(opcode: str, which: int) -> None:
        """An instruction with a slot as its operand, relative to the next instruction."""
        code.extend(bytes.fromhex(opcode))
        code.extend(struct.pack("<i", data + 8 * which - (stub + len(code) + 4)))

    def plain(*opcodes: str) -> None:
        code.extend(bytes.fromhex("".join(opcodes)))

    counter = ("0f31", "48c1e220", "4809d0")  # rdtsc; shl rdx, 32; or rax, rdx
    plain("50", "52", "488b442410")  # push rax; push rdx; mov rax, [rsp + 16]: where the call returns to
    slot("488905", RETURN)
    plain("488d05")  # lea rax, [after]
    after = len(code)
    plain("00000000", "4889442410", *counter)  # mov [rsp + 16], rax
    slot("488905", START)
    plain("5a", "58")
    slot("ff25", TARGET)  # jmp [target]
    struct.pack_into("<i", code, after, len(code) - (after + 4))
    plain("50", "50", "52", *counter)  # a place for the return address; push rax; push rdx
    slot("482b05", START)
    slot("480105", TOTAL)
    slot("48ff05", COUNT)
    slot("488b05", RETURN)
    plain("4889442410", "5a", "58", "c3")
    assert len(code) <= CODE_BYTES
    return bytes(code)


def nanoseconds_of_tick() -> float:
    """How long a tick of the processor's counter is."""
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(bytes.fromhex("0f3148c1e2204809d0c3"))
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    start, tick = time.perf_counter_ns(), read()
    time.sleep(0.05)
    return (time.perf_counter_ns() - start) / (read() - tick)
