"""Compute shaders as RADV keeps them: its binary records, as they stand in pipeline caches and in ``VK_KHR_pipeline_binary`` data, read and written.

A record begins with the registers of the shader, goes on with the driver's own description, whose size differs from version to version of Mesa, and
ends with statistics, code and constant data. Of the description nothing is needed: the total size before the sizes of the parts says where the
record begins, and a record that fits all of them is one.

Sources: ``radv_shader.h`` (radv_shader_binary, radv_shader_binary_legacy) and ``ac_binary.h`` (ac_shader_config) of Mesa 22.3 to 25.2; the Vulkan
specification, VkPipelineCacheHeaderVersionOne. That statistics are those of ``VK_KHR_pipeline_executable_properties`` in their order, as 32-bit
words, and the pipeline's hash first, as two, and which checksum of the code its hash is, is measured on records of Mesa 25.2.4.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from pyaco import isa
from pyaco.abi import Abi
from pyaco.arguments import checked
from pyaco.binary.pal import Compiled
from pyaco.errors import InputError
from pyaco.registers import program_registers, registers
from pyaco.targets import chip, lds_limits

if TYPE_CHECKING:
    from typing_extensions import Buffer as ReadableBuffer

__all__ = ["RadvShader", "holds_radv_shaders", "pipeline_cache_device", "radv_text", "read_radv_shaders", "write_radv_shader"]

_CACHE_HEADER = struct.Struct("<4I16s")
_HEADER_BYTES, _HEADER_VERSION, _AMD = 32, 1, 0x1002
_CODE_END = struct.pack("<I", 0xBF9F0000)


class _Place(NamedTuple):
    """Where a record is: its first byte, its bytes, where its total size stands, where the sizes of its parts."""

    offset: int
    size: int
    total_at: int
    sizes_at: int
    layout: _Layout


class _Layout(NamedTuple):
    """What differs between versions: bytes before the registers, how many sizes of parts there are, bytes behind the last part."""

    before_config: int
    sizes: int
    padding: int


#: Mesa 23 and later; Mesa 22, whose records say the stage before the registers.
_LAYOUTS = (_Layout(4, 6, 0), _Layout(12, 5, 4))
_CONFIG = (
    "num_sgprs", "num_vgprs", "num_shared_vgprs", "spilled_sgprs", "spilled_vgprs", "lds_size", "spi_ps_input_ena", "spi_ps_input_addr",
    "float_mode", "scratch_bytes_per_wave", "rsrc1", "rsrc2", "rsrc3",
)  # fmt: skip
_CONFIG_WORDS = struct.Struct(f"<{len(_CONFIG)}I")
_MOST_SGPRS, _MOST_VGPRS = 128, 1024
#: RADV's names of its statistics, in the order of a record, and those of ``CompiledShader.stats``.
_STATISTICS = {
    "SGPRs": "sgprs", "VGPRs": "vgprs", "Spilled SGPRs": "spilled_sgprs", "Spilled VGPRs": "spilled_vgprs", "Code size": "code_size",
    "LDS size": "lds_bytes", "Scratch size": "scratch_bytes", "Subgroups per SIMD": "max_waves", "Combined inputs": "", "Combined outputs": "",
    "Hash": "", "Instructions": "instructions", "Copies": "copies", "Branches": "branches", "Latency": "latency",
    "Inverse Throughput": "inverse_throughput", "VMEM Clause": "vmem_clauses", "SMEM Clause": "smem_clauses", "Pre-Sched SGPRs": "",
    "Pre-Sched VGPRs": "", "VALU": "valu", "SALU": "salu", "VMEM": "vmem", "SMEM": "smem", "VOPD": "vopd",
}  # fmt: skip
#: The pipeline's hash, then a word for each, then padding.
_STATISTICS_WORDS = struct.Struct(f"<8x{len(_STATISTICS)}I4x")


class Counted(Compiled, Protocol):
    """A compiled shader with its statistics."""

    @property
    def stats(self) -> Mapping[str, int]: ...


@dataclass(frozen=True)
class RadvShader:
    """A compute shader as RADV keeps it.

    Attributes
    ----------
    offset, size : int
        Where its record is in the data that was read.
    config : dict of str to int
        Registers and resources by the names of ``ac_shader_config``: ``num_sgprs``, ``num_vgprs``, ``spilled_sgprs``, ``lds_size`` (in units
        of the hardware), ``scratch_bytes_per_wave``, ``float_mode``, ``rsrc1`` to ``rsrc3`` (COMPUTE_PGM_RSRC1 to 3; ``pyaco reg`` explains
        them) and others.
    description : bytes
        The driver's own description of the shader, whose form is that of one version of Mesa.
    code : bytes
        What is executed.
    constant_data : bytes
        What follows it, without words that mark the end of the code.
    statistics : dict of str to int
        By RADV's names. RADV counts them only for pipelines that were created with statistics captured, and most are 0 in caches; empty where the
        version of Mesa has other ones.
    ir, disassembly : str
        Texts that the driver kept; mostly empty.
    """

    offset: int
    size: int
    config: dict[str, int]
    description: bytes
    code: bytes
    constant_data: bytes
    statistics: dict[str, int]
    ir: str
    disassembly: str


@checked
def read_radv_shaders(data: ReadableBuffer) -> list[RadvShader]:
    """Find the shaders in a pipeline cache, in ``VK_KHR_pipeline_binary`` data, or in anything else that holds RADV's records.

    Parameters
    ----------
    data : bytes-like
        As ``vkGetPipelineCacheData`` or ``vkGetPipelineBinaryDataKHR`` give it.

    Returns
    -------
    list of RadvShader
        In the order of the data; records of shaders that the driver compiled with LLVM are left out.

    Raises
    ------
    InputError
        No record is in the data.
    """
    content = bytes(data)
    found: list[RadvShader] = []
    for place in _places(content):
        if not found or place.offset >= found[-1].offset + found[-1].size:
            found.append(_record(content, place))
    if not found:
        raise InputError(f"no shader of RADV in {len(content)} bytes: neither a pipeline cache nor pipeline binaries of this driver")
    return found


@checked
def pipeline_cache_device(data: ReadableBuffer) -> int | None:
    """The PCI device id that a Vulkan pipeline cache of an AMD GPU begins with; None where the data is no such cache."""
    content = bytes(memoryview(data)[:_HEADER_BYTES])
    if len(content) < _HEADER_BYTES:
        return None
    length, version, vendor, device, _ = _CACHE_HEADER.unpack(content)
    return device if (length, version, vendor) == (_HEADER_BYTES, _HEADER_VERSION, _AMD) else None


def radv_text(data: bytes, target: str | None) -> tuple[str, str]:
    """The target of RADV's shaders, which is that of the cache where `target` is None, and their text one after the other."""
    if target is None:
        from pyaco.targets.database import pci_chip

        device = pipeline_cache_device(data)
        if device is None:
            raise InputError("pipeline binaries do not say for which chip they are: name the target")
        target = pci_chip(device).target
    lines = []
    for shader in read_radv_shaders(data):
        facts = ", ".join(f"{name} {value}" for name, value in shader.config.items() if value)
        lines += [f"; shader at {shader.offset}: {facts}", isa.disassemble(shader.code, target)]
        if shader.constant_data:
            lines.append(f"; {len(shader.constant_data)} bytes of constant data")
    return target, "\n".join(lines) + "\n"


def holds_radv_shaders(data: bytes) -> bool:
    """Whether `data` is a pipeline cache of an AMD GPU, or one record from its first byte to its last."""
    return pipeline_cache_device(data) is not None or any(place.offset == 0 and place.size == len(data) for place in _places(data))


def _places(content: bytes) -> list[_Place]:
    """Every place whose sizes of parts add up to the total before them, and where registers stand at the start, in the order of the data."""
    words = np.frombuffer(content, "<u4", len(content) // 4).astype(np.int64)
    found = [place for layout in _LAYOUTS for gap in (0, 1) for place in _places_of(words, len(content), layout, gap)]
    return sorted(place for place in found if _begins_a_record(content, place))


def _places_of(words: np.ndarray, length: int, layout: _Layout, gap: int) -> Iterator[_Place]:
    """Those of one layout whose total is `gap` words before the sizes: the part up to the total is padded to eight bytes."""
    count = len(words) - 1 - gap - layout.sizes
    if count <= 0:
        return
    code, executed, *others = (words[1 + gap + k : 1 + gap + k + count] for k in range(layout.sizes))
    total_at = np.arange(count) * 4
    sizes_at = total_at + 4 + 4 * gap
    end = sizes_at + 4 * layout.sizes + code + sum(others) + layout.padding        # what is executed is a part of the code
    start = end - words[:count]
    fits = (start >= 0) & (end <= length) & (start % 4 == 0) & (start + layout.before_config + _CONFIG_WORDS.size <= total_at)
    fits &= ((sizes_at - start) % 8 == 0) & (executed > 0) & (executed <= code) & (executed % 4 == 0)
    for k in np.flatnonzero(fits):
        yield _Place(int(start[k]), int(words[k]), int(total_at[k]), int(sizes_at[k]), layout)


def _config(content: bytes, place: _Place) -> dict[str, int]:
    return dict(zip(_CONFIG, _CONFIG_WORDS.unpack_from(content, place.offset + place.layout.before_config), strict=True))


def _begins_a_record(content: bytes, place: _Place) -> bool:
    """Whether registers stand there as shaders have them: of a record whose type is 0, that of machine code without an ELF around it."""
    config = _config(content, place)
    is_code = content[place.offset : place.offset + 4] == bytes(4)
    has_registers = 0 < config["num_sgprs"] <= _MOST_SGPRS and config["num_vgprs"] <= _MOST_VGPRS
    return is_code and has_registers and config["float_mode"] < 1 << 8 and config["rsrc1"] > 0


def _record(content: bytes, place: _Place) -> RadvShader:
    code_size, executed, ir_size, text_size, statistics_size, *_ = struct.unpack_from(f"<{place.layout.sizes}I", content, place.sizes_at)
    first = place.sizes_at + 4 * place.layout.sizes
    statistics, code, ir, text = _parts(content, first, (statistics_size, code_size, ir_size, text_size))
    behind = code[executed:]
    while behind.startswith(_CODE_END):
        behind = behind[len(_CODE_END) :]
    description = content[place.offset + place.layout.before_config + _CONFIG_WORDS.size : place.total_at]
    texts = [part.decode("utf-8", "replace").rstrip("\0") for part in (ir, text)]
    return RadvShader(place.offset, place.size, _config(content, place), description, code[:executed], behind, _named_statistics(statistics), *texts)


def _parts(content: bytes, first: int, sizes: tuple[int, ...]) -> Iterator[bytes]:
    """Parts that stand one behind the other."""
    for size in sizes:
        yield content[first : first + size]
        first += size


def _named_statistics(data: bytes) -> dict[str, int]:
    return dict(zip(_STATISTICS, _STATISTICS_WORDS.unpack(data), strict=True)) if len(data) == _STATISTICS_WORDS.size else {}


@checked
def write_radv_shader(shader: Counted, description: ReadableBuffer = b"") -> bytes:
    """Return a compiled shader as a record, in the form of Mesa 23 to 25.2.

    Parameters
    ----------
    shader : CompiledShader
        What :func:`pyaco.compile` returned.
    description : bytes-like
        The driver's own description, as a record of the same version of Mesa has it (`RadvShader.description`): which user SGPRs the driver
        fills, and how. A driver takes a record only with one that describes this shader; other readers do without.

    Returns
    -------
    bytes
        What `read_radv_shaders` reads.

    Raises
    ------
    InputError
        The shader has no code.
    """
    if not shader.code:
        raise InputError("the shader has no code: its compilation was stopped early")
    # Constant data begins at 64 bytes; what is between is marked as no code.
    code = shader.code + (-len(shader.code) % 64 // len(_CODE_END) * _CODE_END if shader.constant_data else b"")
    executed = len(code)
    while code.endswith(_CODE_END, 0, executed):
        executed -= len(_CODE_END)
    layout = _LAYOUTS[0]
    head = bytes(layout.before_config) + _CONFIG_WORDS.pack(*_config_of(shader)) + bytes(description)
    gap = bytes(-(len(head) + 4) % 8)
    statistics = _STATISTICS_WORDS.pack(*_statistics_of(shader))
    sizes = struct.pack(f"<{layout.sizes}I", len(code + shader.constant_data), executed, 0, 0, len(statistics), 0)
    tail = gap + sizes + statistics + code + shader.constant_data
    return head + struct.pack("<I", len(head) + 4 + len(tail)) + tail


def _config_of(shader: Counted) -> list[int]:
    """The registers of a shader, in the order of ``ac_shader_config``."""
    abi, level = Abi.of(shader.abi), chip(shader.target).level
    known = registers(level)
    resources = {name: known[name].encode(**fields) for name, fields in program_registers(abi, level).items()}
    values = {
        "num_sgprs": abi.num_sgprs, "num_vgprs": abi.num_vgprs, "num_shared_vgprs": abi.num_shared_vgprs,
        "spilled_sgprs": shader.stats["spilled_sgprs"], "spilled_vgprs": shader.stats["spilled_vgprs"],
        "lds_size": lds_limits(level).encode(abi.lds_bytes), "float_mode": abi.float_mode,
        "scratch_bytes_per_wave": abi.scratch_bytes_per_lane * abi.wave_size,
        **{f"rsrc{k}": resources.get(f"COMPUTE_PGM_RSRC{k}", 0) for k in (1, 2, 3)},
    }  # fmt: skip
    return [values.get(name, 0) for name in _CONFIG]


def _statistics_of(shader: Counted) -> list[int]:
    values = {theirs: shader.stats[ours] if ours else 0 for theirs, ours in _STATISTICS.items()}
    return list((values | {"Hash": zlib.crc32(shader.code) ^ 0xFFFFFFFF}).values())
