"""Pairs of instructions as LLVM's machine IR, and what its hazard recognizer puts between them: the judge of ``check_waits``."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass

from pyaco.isa import opcodes

CDNA = {"gfx908": "cdna1", "gfx90a": "cdna2", "gfx942": "cdna3", "gfx950": "cdna4"}
#: What LLVM's names within the compiler write without the last underscore.
_JOINED = {"v_mfma_i32_32x32x16_i8", "v_mfma_i32_16x16x32_i8", "v_mfma_f32_16x16x8_xf32", "v_mfma_f32_32x32x4_xf32"}


def registers(kind: str, first: int, count: int) -> str:
    """A tuple of registers in machine IR: kind is vgpr, agpr or sgpr."""
    return "$" + "_".join(f"{kind}{number}" for number in range(first, first + count))


@dataclass(frozen=True)
class Product:
    """A matrix operation of a chip."""

    row: opcodes.Row
    name: str                         # LLVM's, without what follows the types
    sizes: tuple[int, ...]            # registers of D, A, B, C or index

    @property
    def sparse(self) -> bool:
        return self.row.name.startswith("v_smfmac")

    def text(self, kind: str, result: int, left: int, right: int, total: int, factors: str = "vgpr") -> str:
        """Machine IR: `kind` of D and C; the numbers are those of the first registers."""
        suffix = "_vgprcd_e64" if kind == "vgpr" and not self.sparse else "_e64"
        count, one, two = self.sizes[:3]
        first = registers(kind, result, count)
        a, b = registers(factors, left, one), registers(factors, right, two)
        if self.sparse:
            return f"{first} = {self.name}{suffix} {a}, {b}, {registers('vgpr', total, 1)}, 0, 0, {first}, implicit $mode, implicit $exec"
        return f"{first} = {self.name}{suffix} {a}, {b}, {registers(kind, total, count)}, 0, 0, 0, implicit $mode, implicit $exec"


def products(target: str) -> list[Product]:
    """Every matrix operation of a chip whose modifiers do not choose its types."""
    found = []
    for row in opcodes.rows():
        if not row.matrix or CDNA[target] not in row.numbers or "f8f6f4" in row.matrix.types:
            continue
        words = row.name.upper()
        if row.name in _JOINED:
            words = re.sub(r"_(I8|XF32)$", r"\1", words)
        sizes = tuple(int(token[1:]) for token in (*row.definitions, *row.operands))
        found.append(Product(row, words, sizes))
    return found


def functions(target: str, bodies: Iterable[str], *options: str) -> list[list[str]]:
    """The assembly that LLVM makes of bodies in machine IR (a line an instruction; ``bb.1:`` begins a block), from its hazard recognizer on."""
    text, kernels = [], []
    for number, body in enumerate(bodies):
        kernels.append(f"define amdgpu_kernel void @k{number}() {{ ret void }}\n")
        lines = body if body.startswith("bb.") else f"bb.0:\n{body}"
        block = "".join(f"  {'' if line.startswith('bb.') else '  '}{line}\n" for line in lines.splitlines())
        text.append(f"---\nname: k{number}\ntracksRegLiveness: false\nbody: |\n{block}    S_ENDPGM 0\n...\n")
    command = ["llc-22", "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-start-before=post-RA-hazard-rec", "-x", "mir", "-", "-o", "-", *options]
    module = "--- |\n" + "".join(f"  {kernel}" for kernel in kernels) + "...\n" + "".join(text)
    ran = subprocess.run(command, input=module, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(ran.stderr[:2000])
    found = []
    for body in re.findall(r"^k\d+: .*?$(.*?)^\.Lfunc_end", ran.stdout, re.DOTALL | re.MULTILINE):
        stripped = [line.split(";")[0].strip() for line in body.splitlines()]
        found.append([line for line in stripped if re.match(r"\.LBB.*:", line) or (line and not line.startswith((".", "s_endpgm")))])
    return found
