"""Classes of instructions, as profiles count them: from the format and the latency class of the opcode table."""

from __future__ import annotations

from functools import cache

from pyaco.isa import opcodes

__all__ = ["CLASSES", "VECTOR_CLASSES", "class_of"]

#: Names of the classes.
CLASSES = (
    "valu", "transcendental", "matrix", "salu", "smem", "vmem", "scratch", "lds", "export", "branch", "barrier", "wait", "message", "other",
)  # fmt: skip

#: Those that lanes take part in.
VECTOR_CLASSES = frozenset({"valu", "transcendental", "matrix", "vmem", "scratch", "lds", "export"})

_BY_FORMAT = {
    "smem": "smem", "mubuf": "vmem", "mtbuf": "vmem", "mimg": "vmem", "flat": "vmem", "global": "vmem", "scratch": "scratch", "ds": "lds",
    "ldsdir": "lds", "exp": "export", "sop1": "salu", "sop2": "salu", "sopk": "salu", "sopc": "salu", "sopp": "other",
}  # fmt: skip
_BY_LATENCY = {"branch": "branch", "waitcnt": "wait", "barrier": "barrier", "sendmsg": "message"}
_MATRIX = ("v_mfma", "v_smfmac", "v_wmma", "v_swmmac")


@cache
def class_of(name: str) -> str:
    """Return the class of an opcode: ``transcendental`` and ``matrix`` operations of the vector ALU are apart from ``valu``, flat, global, buffer and
    image instructions are ``vmem``; ``other`` are s_nop, s_clause, s_endpgm and their like."""
    row = opcodes.row(name)
    if row.matrix is not None or name.startswith(_MATRIX):
        return "matrix"
    if "transcendental" in row.latency:
        return "transcendental"
    if "barrier" in name and row.format in ("sopp", "sop1"):
        return "barrier"
    return _BY_LATENCY.get(row.latency) or _BY_FORMAT.get(row.format, "valu")
