"""The memory instructions of GFX6 to GFX8 that do what ``global_*`` and ``scratch_*`` do later.

Memory at an address is reached with FLAT, which has an address and nothing else, on GFX6 with MUBUF and ``addr64``. Scratch is a buffer whose
descriptor swizzles it: dwords of the 64 lanes lie side by side, so an access has at most four bytes, and an SGPR offset counts bytes of
memory, 64 times those of a lane.

Sources: AMD ISA documents "Southern Islands", "Sea Islands" and "Volcanic Islands" (MUBUF, "Buffer Addressing"; FLAT); ACO's
``load_scratch_resource``.
"""
from libc.stdint cimport uint16_t, uint32_t

from isa_opcodes cimport op_count
from isa_tables cimport opcode_name
from pyaco._core.ir.program cimport gfx7, gfx9

cdef uint16_t[op_count] _flat
cdef uint16_t[op_count] _buffer

_by_name = {opcode_name[_opcode].decode(): _opcode for _opcode in range(op_count)}
for _name, _opcode in _by_name.items():
    _kind, _, _rest = _name.partition("_")
    _reaches = _kind in ("global", "scratch")
    _flat[_opcode] = _by_name.get(f"flat_{_rest}", _opcode) if _reaches else _opcode
    _buffer[_opcode] = _by_name.get(f"buffer_{_rest}", _opcode) if _reaches else _opcode
    if _kind == "scratch":
        _flat[_opcode] = _buffer[_opcode]


cdef uint16_t older_form(uint32_t gfx_level, uint32_t opcode) noexcept nogil:
    if gfx_level >= gfx9:
        return <uint16_t>opcode
    return _flat[opcode] if gfx_level >= gfx7 else _buffer[opcode]
