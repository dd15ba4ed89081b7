"""Compare registers, their fields, packets and ioctl flags with public headers.

``python tests/oracle/compare_registers.py [--kernel-registers FILE.py] [--kernel-offsets LEVEL=FILE.h] [--pal DIR] [--llvm DIR]
[--packets FILE.h ...] [--drm FILE.h]`` prints one JSON object: for each source how many names both have, on how many they agree, and
every difference by name (the first few in full).

* ``--kernel-registers``: a Python file with dicts ``gc_9_4_3``, ``gc_11_0_0`` ... of ``regNAME: (offset, base index, fields)``, as tinygrad
  generates it from the kernel's ``asic_reg/gc`` headers; ``--kernel-offsets``: one of those headers (``gc_10_3_0_offset.h``).
* ``--pal``: PAL's ``src/core/hw/gfxip``; ``--llvm``: LLVM's ``lib/Target/AMDGPU``.
* ``--packets``: ``nvd.h``, ``soc15d.h`` of the kernel, PAL's ``*_pm4_it_opcodes.h``; ``--drm``: ``amdgpu_drm.h``.

Known differences: six VGT ring registers up to GFX10.3 are named twice, in the space of the kernel (0x88xx) and in that of user mode, which
is ours; PA_SU_PERFCOUNTER*_HI, SPI_SHADER_PGM_HI_*, CU_EN, CP_EOP_DONE_CNTX_ID and RLC_GPU_IOV_PERF_CNT_* have fields that one side gives
more bits; GFX12 moves SET_SH_REG_PAIRS_PACKED to 0xbc, where no user-mode driver writes it.
"""

from __future__ import annotations

import argparse
import json
import re
import runpy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyaco.emu.buffer_objects import CreateFlag, Domain, MapFlag, Operation
from pyaco.pm4.opcodes import OPCODES
from pyaco.registers import registers

# Where the kernel's headers count from: dwords, by base index.
BASES = {94: (0x2000, 0xA000), 100: (0x1260, 0xA000), 103: (0x1260, 0xA000), 110: (0x1260, 0xA000), 115: (0x1260, 0xA000), 120: (0x1260, 0xA000)}
KERNEL = {"gc_9_4_3": 94, "gc_11_0_0": 110, "gc_11_5_0": 115, "gc_12_0_0": 120}
# PAL's namespaces of chips that are not a whole generation are left out.
PAL_NAMESPACES = {"Chip": (100, 103, 110, 115), "Gfx10": (100, 103), "Gfx101": (100,), "Gfx103Plus": (103, 110, 115), "Gfx11": (110, 115),
                  "Gfx110": (110,), "Gfx115": (115,)}


@dataclass
class Count:
    """What one comparison found."""

    both: int = 0
    agreed: int = 0
    only_theirs: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, name: str, ours: object, theirs: object) -> None:
        self.both += 1
        if ours == theirs:
            self.agreed += 1
        else:
            self.differences.append(f"{name}: ours {ours}, theirs {theirs}")

    def facts(self) -> dict[str, Any]:
        return {"both": self.both, "agreed": self.agreed, "only theirs": self.only_theirs, "differences": self.differences[:40],
                "more differences": max(len(self.differences) - 40, 0)}


def offsets(level: int, theirs: Iterable[tuple[str, int]], count: Count) -> None:
    """Byte offsets of registers by name. Words of descriptors are no registers."""
    known = registers(level)
    for name, offset in theirs:
        if name not in known:
            count.only_theirs += 1
        elif not name.startswith(("SQ_BUF_RSRC", "SQ_IMG_", "SQ_EXP", "SQ_WAVE")):
            count.add(f"{name} on {level}", hex(known[name].offset), hex(offset))


def fields(level: int, theirs: Iterable[tuple[str, str, int]], count: Count) -> None:
    """Bits of fields by name, as masks."""
    known = registers(level)
    for name, part, mask in theirs:
        if name not in known:
            continue
        masks = {each.name.upper(): each.mask for each in known[name].fields}
        if part.upper() in masks:
            count.add(f"{name}.{part} on {level}", hex(masks[part.upper()]), hex(mask))
        else:
            count.only_theirs += 1


def kernel_registers(path: Path) -> dict[str, Any]:
    """The kernel's registers with their fields."""
    found: dict[str, Any] = {}
    for name, table in runpy.run_path(str(path)).items():
        if name not in KERNEL:
            continue
        level, places, bits = KERNEL[name], Count(), Count()
        plain = {key.removeprefix("reg"): entry for key, entry in table.items()}
        offsets(level, ((key, 4 * (offset + BASES[level][base])) for key, (offset, base, _) in plain.items() if base < 2), places)
        fields(level, ((key, part, (1 << last + 1) - (1 << first)) for key, (_, _, parts) in plain.items()
                       for part, (first, last) in parts.items()), bits)
        found[f"kernel {name}: offsets"], found[f"kernel {name}: fields"] = places.facts(), bits.facts()
    return found


def kernel_offsets(level: int, path: Path) -> dict[str, Any]:
    text = path.read_text()
    base = {name: int(number) for name, number in re.findall(r"#define (?:mm|reg)(\w+)_BASE_IDX\s+(\d+)", text)}
    found = re.findall(r"#define (?:mm|reg)(\w+)\s+(0x[0-9a-fA-F]+)", text)
    count = Count()
    offsets(level, ((name, 4 * (int(number, 16) + BASES[level][base[name]])) for name, number in found if base.get(name, 9) < 2), count)
    return {f"kernel {path.name}: offsets": count.facts()}


def namespaces(path: Path, whole: tuple[int, ...] | None) -> Iterator[tuple[int, str]]:
    """Each line of a header of PAL with every level that its namespace stands for."""
    levels: tuple[int, ...] = ()
    for line in path.read_text().splitlines():
        opened = re.match(r"\s*(?:inline )?namespace (\w+)", line)
        if opened:
            levels = PAL_NAMESPACES.get(opened[1], ()) if whole is None else whole
        elif re.match(r"\s*} // ", line):
            levels = ()
        else:
            yield from ((level, line) for level in levels)


def pal(folder: Path) -> dict[str, Any]:
    """PAL's merged headers: GFX10 to GFX11.5 in one, GFX12 in another."""
    found: dict[str, Any] = {}
    for name, prefix, whole in (("gfx9", "gfx9_plus_merged", None), ("gfx12", "gfx12_merged", (120,))):
        places, bits = Count(), Count()
        for level, line in namespaces(folder / name / "chip" / f"{prefix}_offset.h", whole):
            match = re.match(r"\s*constexpr unsigned int mm(\w+)\s*= (0x[0-9A-Fa-f]+);", line)
            if match:
                offsets(level, [(match[1], 4 * int(match[2], 16))], places)
        for level, line in namespaces(folder / name / "chip" / f"{prefix}_mask.h", whole):
            match = re.match(r"\s*constexpr unsigned int (\w+?)__(\w+)_MASK\s*= (0x[0-9A-Fa-f]+)", line)
            if match:
                fields(level, [(match[1], match[2], int(match[3], 16))], bits)
        found[f"PAL {name}: offsets"], found[f"PAL {name}: fields"] = places.facts(), bits.facts()
    return found


def llvm(folder: Path) -> dict[str, Any]:
    """Registers that LLVM writes into the metadata of a shader, and the fields that it fills in."""
    places, bits, named = Count(), Count(), Count()
    text = (folder / "SIDefines.h").read_text()
    names = {offset: name for offset, name in re.findall(r"#define R_([0-9A-F]{6})_(\w+)\s+0x", text)}
    for level in (60, 80, 90, 100, 110):
        offsets(level, ((name, int(offset, 16)) for offset, name in names.items()), places)
    for offset, part, mask, shift in re.findall(r"#define\s+S_([0-9A-F]{6})_(\w+?)\(x\)\s+\(\(\(x\) & (0x[0-9A-Fa-f]+)\) << (\d+)\)", text):
        if offset not in names:
            continue
        generation = re.search(r"_GFX(\d+)(PLUS)?$", part)
        level = 10 * int(generation[1]) if generation else 80
        plain = part[: generation.start()] if generation else part
        if generation is None and plain in ("MEM_ORDERED", "WGP_MODE", "FWD_PROGRESS"):
            level = 100
        fields(level, [(names[offset], plain, int(mask, 16) << int(shift))], bits)
    metadata = (folder / "Utils" / "AMDGPUPALMetadata.cpp").read_text()
    # The table names registers of every generation; each is looked up where it exists.
    for number, name in re.findall(r"\{(0x[0-9a-f]+), \"(\w+)\"\}", metadata):
        levels = [level for level in (60, 70, 80, 90, 100, 103, 110, 120) if name in registers(level)]
        if levels:
            named.add(name, hex(4 * int(number, 16)), hex(next((registers(level)[name].offset for level in levels
                      if registers(level)[name].offset == 4 * int(number, 16)), registers(levels[0])[name].offset)))
        else:
            named.only_theirs += 1
    return {"LLVM SIDefines: offsets": places.facts(), "LLVM SIDefines: fields": bits.facts(), "LLVM PAL metadata: offsets": named.facts()}


def packets(path: Path) -> dict[str, Any]:
    count = Count()
    text = path.read_text()
    found = re.findall(r"#define\s+PACKET3_(\w+)\s+(0x[0-9A-Fa-f]+)\b", text) + re.findall(r"\bIT_(\w+?)\s*= (0x[0-9a-f]+),", text)
    for name, number in found:
        plain = re.sub(r"__\w+$", "", name)
        if plain in OPCODES:
            count.add(name, hex(OPCODES[plain]), hex(int(number, 16)))
        else:
            count.only_theirs += 1
    return {f"packets of {path.name}": count.facts()}


def drm(path: Path) -> dict[str, Any]:
    """Domains, flags and operations of the ioctls."""
    text, count = path.read_text(), Count()
    values = {name: 1 << int(shift) if shift else int(number, 0) for name, shift, number in re.findall(
        r"#define\s+(AMDGPU_\w+)\s+(?:\(1(?:ULL)? << (\d+)\)|(0x[0-9a-fA-F]+|\d+)\b)", text)}
    for kind, prefix in ((Domain, "AMDGPU_GEM_DOMAIN_"), (CreateFlag, "AMDGPU_GEM_CREATE_"), (MapFlag, "AMDGPU_VM_PAGE_"),
                         (Operation, "AMDGPU_VA_OP_")):
        for member in kind:
            name = "AMDGPU_VM_MTYPE_MASK" if member is MapFlag.MTYPE else f"{prefix}{member.name}"
            theirs = values.get(name, values.get(f"{name}_MASK"))
            if theirs is None:
                theirs = 0xF << 5 if member is MapFlag.MTYPE and re.search(r"AMDGPU_VM_MTYPE_MASK\s+\(0xf << 5\)", text) else None
            count.add(name, int(member), theirs)
    return {"amdgpu_drm.h": count.facts()}


def main() -> None:
    """Compare with what the command line names."""
    parser = argparse.ArgumentParser()
    for name in ("--kernel-registers", "--pal", "--llvm", "--drm"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--packets", type=Path, nargs="*", default=[])
    parser.add_argument("--kernel-offsets", nargs="*", default=[], metavar="LEVEL=FILE")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for path, compare in ((options.kernel_registers, kernel_registers), (options.pal, pal), (options.llvm, llvm), (options.drm, drm)):
        if path is not None:
            found |= compare(path)
    for text in options.kernel_offsets:
        level, _, path = text.partition("=")
        found |= kernel_offsets(int(level), Path(path))
    for path in options.packets:
        found |= packets(path)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
