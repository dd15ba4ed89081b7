"""Compare the GPU database, the limits and the memory heaps with what RADV says of real chips.

``python tests/oracle/replay_radv_info.py DIR``: DIR holds, for each chip, ``<chip>.info.txt`` (RADV_DEBUG=info) and
``<chip>.vulkaninfo.txt``, which may be compressed (``.xz``). Prints one JSON object: facts tried and agreed by chip, and every
difference by name.
"""

from __future__ import annotations

import json
import lzma
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyaco.descriptors.layout import MAX_PUSH_BYTES, MAX_SETS
from pyaco.descriptors.types import AMD_CONTENTS
from pyaco.targets.database import Die, Product, dies, pci_chip
from pyaco.targets.figures import peaks
from pyaco.targets.limits import wave_limits
from pyaco.targets.memory import memory_heaps

MIB = 1 << 20
Fact = tuple[str, Any, Any]


def read(folder: Path, name: str) -> str:
    plain = folder / name
    return plain.read_text() if plain.exists() else lzma.decompress((folder / f"{name}.xz").read_bytes()).decode()


def numbers(text: str) -> dict[str, int]:
    """The first number behind each ``name =``; the first line of a name counts."""
    found: dict[str, int] = {}
    for name, value in re.findall(r"^\s*(\w+)\s*= (0x[0-9a-f]+|\d+)", text, re.MULTILINE):
        found.setdefault(name, int(value, 0))
    return found


def structure_facts(die: Die, info: dict[str, int]) -> Iterator[Fact]:
    """What the driver says of the chip's structure; a sold chip may lack units of the die."""
    unit = die.unit
    yield "chip by PCI id", pci_chip(info["pci_id"], info["pci_rev_id"]).name, die.name
    yield "shader engines", die.engines, info["max_se"]
    yield "arrays of an engine", die.arrays, info["max_sa_per_se"]
    yield "units of an array, at least", die.units >= info["max_good_cu_per_sa"], True
    yield "compute units, at least", die.compute_units >= info["num_cu"], True
    yield "render backends", die.backends, info["max_render_backends"]
    yield "L2 KiB", die.l2, info["l2_cache_size"]
    yield "L2 slices", die.slices, info["max_tcc_blocks"]
    yield "last-level MiB", die.last_level, info.get("l3_cache_size", 0)
    yield "bus bits", die.bus, info["memory_bus_width"]
    yield "L0 KiB", unit.l0 // 1024, info.get("l0_cache_size", info["l1_cache_size"])
    yield "SIMDs of a unit", unit.simds, info["num_simd_per_compute_unit"]
    yield "scalar registers of a SIMD", unit.scalar_registers // 4, info["num_physical_sgprs_per_simd"]
    yield "LDS of a unit or a pair", unit.lds * (2 if unit.in_pairs else 1), info["lds_size_per_workgroup"]
    yield "vector registers, wave64", unit.vector_registers // 256, info["num_physical_wave64_vgprs_per_simd"]
    yield "waves of a SIMD", unit.waves, info["max_wave64_per_simd"]


def limit_facts(die: Die, info: dict[str, int], vulkan: dict[str, int]) -> Iterator[Fact]:
    limits = wave_limits(die.chip, 64)
    yield "waves", limits.max_waves_per_simd, info["max_wave64_per_simd"]
    yield "VGPRs", limits.physical_vgprs, info["num_physical_wave64_vgprs_per_simd"]
    yield "SGPR granule", limits.sgpr_allocation_granule, info["sgpr_alloc_granularity"]
    yield "LDS granule", limits.lds_allocation_granule, info["lds_alloc_granularity"]
    yield "LDS encoding", limits.lds_encoding_granule, info["lds_encode_granularity"]
    yield "SIMDs", limits.simds_per_cu, info["num_simd_per_compute_unit"]
    yield "VGPR limit", limits.vgpr_limit, info["max_vgpr_alloc"]
    yield "shared memory", limits.lds_limit, vulkan["maxComputeSharedMemorySize"]
    yield "smallest wave", 32 if die.unit.in_pairs else 64, vulkan["minSubgroupSize"]
    yield "own video memory", die.has_own_memory, bool(info["has_dedicated_vram"])
    yield "largest wave", 64, vulkan["maxSubgroupSize"]
    largest = max(each.size for each in AMD_CONTENTS.values())
    yield "descriptors of a set", ((1 << 31) - 1) // largest, vulkan["maxPerSetDescriptors"]
    yield "invocations of a workgroup", 1024, vulkan["maxComputeWorkGroupInvocations"]
    yield "push constants", MAX_PUSH_BYTES, vulkan["maxPushConstantsSize"]
    yield "descriptor sets", MAX_SETS, vulkan["maxBoundDescriptorSets"]


def rate_facts(die: Die, info: dict[str, int]) -> Iterator[Fact]:
    """The driver's own peak figures from our formulas, with the units and the clock that it found."""
    sold = Product(die.name, die.name, info["num_cu"], info["max_gpu_freq"], 0, 0)
    figures = {figure.name: figure for figure in peaks(sold)}
    yield "GFLOP/s", int(figures["flops"].value * 1000 + 1e-6), info["max_gflops"]
    if info["memory_bandwidth"]:
        effective = info["memory_bandwidth"] * 8 / die.bus          # GT/s, from the driver's own bandwidth
        yield "transfers in a second", -(-int(effective * 1000) // 1000), info["memory_freq"]


def heap_facts(die: Die, info: dict[str, int], text: str) -> Iterator[Fact]:
    part = text[text.index("VkPhysicalDeviceMemoryProperties"):]
    theirs = [int(size) for size in re.findall(r"^\s+size\s+= (\d+)", part, re.MULTILINE)]
    kinds = [(int(heap), int(flags, 16)) for heap, flags in re.findall(
        r"heapIndex\s+= (\d+)\s+propertyFlags = (0x[0-9a-f]+)", part)]
    heaps, types = memory_heaps(die.chip.level, info["vram_size"] * MIB, info["vram_vis_size"] * MIB, info["gart_size"] * MIB,
                                dedicated=bool(info["has_dedicated_vram"]))
    yield "number of heaps", len(heaps), len(theirs)
    for index, (heap, size) in enumerate(zip(heaps, theirs, strict=False)):
        # The text gives sizes in MiB, rounded up.
        yield f"size of heap {index}, to a MiB", abs(heap.size - size) < MIB, True
        local = "DEVICE_LOCAL" in part.split(f"memoryHeaps[{index}]")[1].split("memory")[0]
        yield f"heap {index} is local", heap.device_local, local
    yield "memory types", [(kind.heap, int(kind.properties)) for kind in types], kinds


def replay(folder: Path, chip: str) -> dict[str, Any]:
    """Every fact of one chip."""
    die = next(each for each in dies() if each.name == chip or chip.startswith(f"{each.name}_"))
    info_text, vulkan_text = read(folder, f"{chip}.info.txt"), read(folder, f"{chip}.vulkaninfo.txt")
    info, vulkan = numbers(info_text), numbers(vulkan_text)
    facts = [*structure_facts(die, info), *limit_facts(die, info, vulkan), *rate_facts(die, info), *heap_facts(die, info, vulkan_text)]
    different = [{"fact": name, "ours": ours, "theirs": theirs} for name, ours, theirs in facts if ours != theirs]
    return {"tried": len(facts), "agreed": len(facts) - len(different), "differences": different}


def main() -> None:
    """Replay the folder that the command line names."""
    folder = Path(sys.argv[1])
    chips = sorted({path.name.split(".")[0] for path in folder.glob("*.info.txt*")})
    print(json.dumps({chip: replay(folder, chip) for chip in chips}, indent=1))


if __name__ == "__main__":
    main()
