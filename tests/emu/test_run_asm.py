"""The C door: a shared library and its header, through ctypes and from a C program that is no Python interpreter."""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import pyaco
from pyaco import isa
from pyaco.emu import EmulationError, run_asm
from pyaco.errors import InputError

PACKAGE = Path(pyaco.__file__).parent
LIBRARY = PACKAGE / "lib" / "libpyaco_run_asm.so"
pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="built without the C door")

# data[workgroup * 32 + lane] += user SGPR 2 (or 5)
PROGRAM = {
    "rdna3": "s_lshl_b32 s8, s{id}, 7\nv_and_b32 v0, 0x3ff, v0\nv_lshl_add_u32 v0, v0, 2, s8\ns_load_b64 s[10:11], s[0:1], 0x0\n"
             "s_waitcnt lgkmcnt(0)\nglobal_load_b32 v1, v0, s[10:11]\ns_waitcnt vmcnt(0)\nv_add_nc_u32 v1, {add}, v1\n"
             "global_store_b32 v0, v1, s[10:11]\ns_endpgm",
    "rdna4": "s_lshl_b32 s8, ttmp9, 7\nv_and_b32 v0, 0x3ff, v0\nv_lshl_add_u32 v0, v0, 2, s8\ns_load_b64 s[10:11], s[0:1], 0x0\n"
             "s_wait_kmcnt 0\nglobal_load_b32 v1, v0, s[10:11]\ns_wait_loadcnt 0\nv_add_nc_u32 v1, {add}, v1\n"
             "global_store_b32 v0, v1, s[10:11]\ns_endpgm",
}  # fmt: skip
CHIP = {"rdna3": "gfx1150", "rdna4": "gfx1200"}


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    loaded = ctypes.CDLL(str(LIBRARY))
    word, pointer = ctypes.c_uint32, ctypes.c_void_p
    loaded.run_asm.argtypes = [pointer, word, *[word] * 6, pointer, word, word, ctypes.c_char_p, pointer, word]
    loaded.run_asm_error.restype = ctypes.c_char_p
    return loaded


def call(library: ctypes.CDLL, arch: str, data: np.ndarray, user: list[int] | None = None) -> int:
    user_count = 2 if user is None else len(user)
    text = PROGRAM[arch].format(id=user_count, add="5" if user is None else "s2")
    code = np.frombuffer(isa.assemble(text, CHIP[arch]), np.uint8).copy()
    arguments = np.array([data.ctypes.data], np.uint64)
    words = None
    if user is not None:
        pointer = arguments.ctypes.data
        words = np.array([pointer & 0xFFFFFFFF, pointer >> 32, *user[2:]], np.uint32)
    return library.run_asm(
        code.ctypes.data, code.nbytes, len(data) // 32, 1, 1, 32, 1, 1, arguments.ctypes.data, user_count << 1 | 1 << 7, 0, arch.encode(),
        None if words is None else words.ctypes.data, user_count,
    )  # fmt: skip


@pytest.mark.parametrize("arch", PROGRAM)
def test_through_ctypes(library: ctypes.CDLL, arch: str) -> None:
    data = np.arange(128, dtype=np.uint32)
    assert call(library, arch, data) == 0
    assert np.array_equal(data, np.arange(128) + 5)
    assert call(library, arch, data, [0, 0, 100]) == 0
    assert np.array_equal(data, np.arange(128) + 105)


def test_errors(library: ctypes.CDLL) -> None:
    code = np.array([0xFFFFFFFF, 0xFFFFFFFF], np.uint32)
    arguments = (code.ctypes.data, 8, 1, 1, 1)
    assert library.run_asm(*arguments, 32, 1, 1, None, 0x19C, 0, b"rdna3", None, 0) == 1
    assert b"illegal instruction" in library.run_asm_error()
    assert library.run_asm(*arguments, 32, 1, 1, None, 0x19C, 0, b"quantum", None, 0) == 2
    assert b"quantum" in library.run_asm_error()
    assert library.run_asm(*arguments, 0, 1, 1, None, 0x19C, 0, b"rdna3", None, 0) == 3
    assert library.run_asm_python(b"libnothing.so") == 3      # an interpreter runs


def run_one(instruction: str, address: int) -> None:
    """Run an instruction with an address in s[2:3] and v[2:3], and 0 in v0; the page that follows the code cannot be read."""
    text = f"s_load_b64 s[2:3], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v0, 0\nv_mov_b32 v2, s2\nv_mov_b32 v3, s3\n{instruction}\ns_endpgm"
    code = isa.assemble(text, CHIP["rdna3"])
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    place = mmap.PAGESIZE - len(code)
    pages[place : place + len(code)] = code
    first = np.frombuffer(pages, np.uint8).ctypes.data
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    assert protect(first + mmap.PAGESIZE, mmap.PAGESIZE, 0) == 0
    arguments = np.array([address], np.uint64)
    run_asm(first + place, len(code), 1, 1, 1, 32, 1, 1, arguments.ctypes.data, 2 << 1)


ACCESSES = {
    "global_load_b32 v1, v0, s[2:3]": "global_load", "global_load_b128 v[4:7], v[2:3], off": "global_load", "flat_load_b32 v1, v[2:3]": "flat_load",
    "global_store_b8 v0, v1, s[2:3]": "global_store", "global_store_b32 v0, v1, s[2:3]": "global_store", "s_load_b32 s4, s[2:3], 0x0": "s_load",
    "global_atomic_add_u32 v0, v1, s[2:3]": "global_atomic_add",
}  # fmt: skip


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("instruction", ACCESSES)
def test_addresses_of_no_process(monkeypatch: pytest.MonkeyPatch, instruction: str, engine: str) -> None:
    """What is near a null pointer, or beyond what a process can have, ends the run and not the process; nor does its report read beyond code."""
    monkeypatch.setenv("PYACO_ENGINE", engine)
    for address in (0, 0x1000, 0x7FFFFFFFF000, 0x800000000000, 0xFFFFFFFFFFFFFF00):
        with pytest.raises(EmulationError, match=rf"memory fault: {ACCESSES[instruction]}.* \((\w{{8}} ?){{2,3}}\), address {address:#x}"):
            run_one(instruction, address)


def test_code_of_no_process() -> None:
    for address in (0, 0x1000, 0x7FFFFFFFF000, 0x800000000000, 0xFFFFFFFFFFFFFF00):
        with pytest.raises(InputError, match=f"8 bytes of code at {address:#x}"):
            run_asm(address, 8, 1, 1, 1, 32, 1, 1, 0)


def test_threads(library: ctypes.CDLL) -> None:
    """Calls from several threads come one after the other."""
    arrays = [np.arange(256, dtype=np.uint32) for _ in range(4)]
    codes = []
    threads = [threading.Thread(target=lambda array=array: codes.append([call(library, "rdna3", array) for _ in range(5)])) for array in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [[0] * 5] * 4
    assert all(np.array_equal(array, np.arange(256) + 25) for array in arrays)


MAIN = r"""
#include <pyaco_run_asm.h>
#include <stdio.h>

static const uint32_t code[] = { %s };
static const uint32_t nonsense[] = { 0xffffffffu, 0xffffffffu };

int main(void)
{
    uint32_t data[64];
    uint64_t args[1] = { (uint64_t)(uintptr_t)data };
    int status;
    for (uint32_t i = 0; i < 64; i++)
        data[i] = i;
    status = run_asm(code, sizeof code, 2, 1, 1, 32, 1, 1, args, 2 << 1 | 1 << 7, 0, "rdna3", NULL, 0);
    if (status) {
        printf("%%d %%s\n", status, run_asm_error());
        return 1;
    }
    for (uint32_t i = 0; i < 64; i++)
        if (data[i] != i + 5)
            return 2;
    status = run_asm(nonsense, sizeof nonsense, 1, 1, 1, 32, 1, 1, NULL, RUN_ASM_RSRC2, 0, NULL, NULL, 0);
    printf("%%d %%s\n", status, run_asm_error());
    return status == RUN_ASM_FAILED ? 0 : 3;
}
"""


def test_from_c(tmp_path: Path) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    words = np.frombuffer(isa.assemble(PROGRAM["rdna3"].format(id=2, add="5"), CHIP["rdna3"]), np.uint32)
    (tmp_path / "main.c").write_text(MAIN % ", ".join(f"{word:#x}u" for word in words))
    program = tmp_path / "main"
    subprocess.run(
        [compiler, "-Wall", "-Wextra", "-Werror", f"-I{PACKAGE / 'include'}", str(tmp_path / "main.c"), str(LIBRARY), f"-Wl,-rpath,{LIBRARY.parent}",
         "-o", str(program)], check=True,
    )  # fmt: skip
    # where the interpreter finds what the package needs: it is told, as a program of another environment would be
    paths = os.pathsep.join(path for path in sys.path if path)
    result = subprocess.run([str(program)], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths})
    assert result.returncode == 0, result.stdout + result.stderr
    assert "illegal instruction" in result.stdout


FAKE = "libfakepython.so.1"


def attempt(folder: Path) -> str:
    """What a copy of the library in `folder`, built for a Python whose library is `FAKE`, says in a process without an interpreter."""
    folder.mkdir(parents=True)
    source = PACKAGE / "_core" / "emu" / "run_asm.c"
    main = folder / "main.c"
    main.write_text('#include <pyaco_run_asm.h>\n#include <stdio.h>\nint main(void) { run_asm("", 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0);\n'
                    'puts(run_asm_error()); return 0; }\n')  # fmt: skip
    flags = ["-Wall", "-Wextra", "-Werror", f"-I{PACKAGE / 'include'}", '-DPYACO_LIBPYTHON_FOLDER=""', f'-DPYACO_LIBPYTHON_NAME="{FAKE}"']
    library = folder / "library.so"
    subprocess.run(["gcc", *flags, "-shared", "-fPIC", str(source), "-o", str(library), "-ldl", "-lpthread"], check=True)
    subprocess.run(["gcc", *flags, str(main), str(library), f"-Wl,-rpath,{folder}", "-o", str(folder / "main")], check=True)
    clean = {key: value for key, value in os.environ.items() if key != "PYACO_LIBPYTHON"}
    return subprocess.run([str(folder / "main")], capture_output=True, text=True, check=True, env=clean).stdout


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
@pytest.mark.skipif(not (PACKAGE / "_core" / "emu" / "run_asm.c").exists(), reason="the source is not installed")
def test_library_of_python_is_found_from_where_the_package_lies(tmp_path: Path) -> None:
    """In the installation that it is installed in, or in that which its virtual environment names; no path is built in."""
    package = Path("lib/python3/site-packages/pyaco/lib")
    installation, environment = tmp_path / "installation", tmp_path / "environment"
    assert f"{FAKE}: cannot open" in attempt(tmp_path / "nowhere" / package)
    (installation / "lib").mkdir(parents=True)
    empty = ["gcc", "-shared", "-fPIC", "-x", "c", "/dev/null", "-o", str(installation / "lib" / FAKE)]
    subprocess.run(empty, check=True)
    assert attempt(installation / package) == "not in Python's library: Py_IsInitialized\n"
    environment.mkdir()
    (environment / "pyvenv.cfg").write_text(f"home = {installation}/bin\nversion = 3\n")
    assert attempt(environment / package) == "not in Python's library: Py_IsInitialized\n"


def test_header_says_the_signature() -> None:
    text = (PACKAGE / "include" / "pyaco_run_asm.h").read_text()
    assert "int run_asm(const void *lib, uint32_t lib_size" in text and "RUN_ASM_NO_PYTHON 4" in text
