"""Names of the machine's numbers. Written by ``tools/write_vocabulary.py`` from the data sheet ``machine.pxd``; do not edit.

Members are integers that know their name and what IR text writes for them. (They are no ``enum.IntEnum``: CPython 3.11 gives away references
to None for each of its members, and loading so many of them would take longer than all else that reading a text does.)
"""

from __future__ import annotations


class Word(int):
    """A number of the data sheets."""

    name: str
    text: str

    def __new__(cls, value: int, text: str) -> Word:
        """Make a number that has a text; its class gives it its name."""
        word = super().__new__(cls, value)
        word.text = text
        return word

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


class Words:
    """An enumeration of the data sheets."""

    @classmethod
    def members(cls) -> tuple[Word, ...]:
        """All members in the order of the data sheet."""
        return tuple(member for member in vars(cls).values() if isinstance(member, Word))

    @classmethod
    def names(cls) -> dict[int, str]:
        """Text by number."""
        return {int(member): member.text for member in cls.members()}

    @classmethod
    def numbers(cls) -> dict[str, int]:
        """Number by text, and by the member's name in lower case."""
        return {member.name.lower(): int(member) for member in cls.members()} | {member.text: int(member) for member in cls.members()}

    @classmethod
    def bits(cls) -> dict[int, str]:
        """Text of each single bit, from the lowest on."""
        return {value: text for value, text in sorted(cls.names().items()) if value and not value & (value - 1)}


class Register(Words):
    """Register: byte addresses of the special ones."""

    VCC = Word(0x1a8, "vcc")
    VCC_HI = Word(0x1ac, "vcc_hi")
    M0 = Word(0x1f0, "m0")  # the assembler swaps m0 and null on GFX11+
    NULL = Word(0x1f4, "null")
    EXEC = Word(0x1f8, "exec")
    EXEC_HI = Word(0x1fc, "exec_hi")
    SCC = Word(0x3f4, "scc")
    VGPR0 = Word(0x400, "vgpr0")
    AGPR0 = Word(0x800, "agpr0")  # accumulation registers of CDNA
    NONE = Word(0xffff, "none")


class RegisterClass(Words):
    """RegisterClass: those that ACO IR is built with."""

    S1 = Word(1, "s1")
    S2 = Word(2, "s2")
    S3 = Word(3, "s3")
    S4 = Word(4, "s4")
    S8 = Word(8, "s8")
    S16 = Word(0x10, "s16")
    V1 = Word(0x21, "v1")
    V2 = Word(0x22, "v2")
    V3 = Word(0x23, "v3")
    V4 = Word(0x24, "v4")
    V1B = Word(0x61, "v1b")
    V2B = Word(0x62, "v2b")
    V3B = Word(0x63, "v3b")
    V1_LINEAR = Word(0xa1, "v1_linear")


class Format(Words):
    """Format: of an instruction's encoding."""

    PSEUDO = Word(0, "pseudo")
    PSEUDO_BRANCH = Word(1, "pseudo_branch")
    PSEUDO_BARRIER = Word(2, "pseudo_barrier")
    PSEUDO_REDUCTION = Word(3, "pseudo_reduction")
    SOP1 = Word(4, "sop1")
    SOP2 = Word(5, "sop2")
    SOPK = Word(6, "sopk")
    SOPP = Word(7, "sopp")
    SOPC = Word(8, "sopc")
    SMEM = Word(9, "smem")
    DS = Word(10, "ds")
    LDSDIR = Word(11, "ldsdir")
    MTBUF = Word(12, "mtbuf")
    MUBUF = Word(13, "mubuf")
    MIMG = Word(14, "mimg")
    EXP = Word(15, "exp")
    FLAT = Word(0x10, "flat")
    GLOBAL = Word(0x11, "global")
    SCRATCH = Word(0x12, "scratch")
    VINTRP = Word(0x13, "vintrp")
    VINTERP_INREG = Word(0x14, "vinterp_inreg")
    VOPD = Word(0x15, "vopd")
    BASE_MASK = Word(0x7f, "base_mask")
    VOP1 = Word(0x80, "vop1")
    VOP2 = Word(0x100, "vop2")
    VOPC = Word(0x200, "vopc")
    VOP3 = Word(0x400, "vop3")
    VOP3P = Word(0x800, "vop3p")
    SDWA = Word(0x1000, "sdwa")
    DPP16 = Word(0x2000, "dpp16")
    DPP8 = Word(0x4000, "dpp8")


class GfxLevel(Words):
    """GfxLevel: values of gfx_level; comparisons by order are meaningful."""

    GFX6 = Word(0x3c, "gfx6")
    GFX7 = Word(0x46, "gfx7")
    GFX8 = Word(0x50, "gfx8")
    GFX9 = Word(0x5a, "gfx9")
    GFX908 = Word(0x5b, "gfx908")  # CDNA 1 to 4 descend from GFX9
    GFX90A = Word(0x5c, "gfx90a")
    GFX942 = Word(0x5e, "gfx942")
    GFX950 = Word(0x5f, "gfx950")
    GFX10 = Word(0x64, "gfx10")
    GFX10_3 = Word(0x67, "gfx10_3")
    GFX11 = Word(0x6e, "gfx11")
    GFX11_5 = Word(0x73, "gfx11_5")
    GFX11_7 = Word(0x75, "gfx11_7")
    GFX12 = Word(0x78, "gfx12")
    GFX12_5 = Word(0x7d, "gfx12_5")
    GFX12_51 = Word(0x7e, "gfx12_51")
    GFX13 = Word(0x82, "gfx13")
