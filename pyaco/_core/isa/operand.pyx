"""Operands as Python objects: see ``operand.pxd``."""
from cpython.long cimport PyLong_Check
from cpython.float cimport PyFloat_Check

from pyaco._core.common.machine cimport (
    register_exec, register_exec_hi, register_m0, register_null, register_scc, register_vcc, register_vcc_hi,
)

from pyaco.errors import InputError


cdef class Operand:
    """Registers or a constant, as an instruction names them. Immutable.

    Attributes
    ----------
    address : int
        Byte address of the first register: SGPR n at 4n, VGPR n at 4(256 + n), AGPR n at 4(512 + n).
    dwords : int
        Number of registers.
    half : int
        Of a 16-bit operand: 0 low, 1 high, -1 not said.
    value : int, float or None
        The number, if it is a constant.
    literal, negative, magnitude, sign_extended : bool
        ``lit(...)``, ``-x``, ``|x|``, ``sext(x)``.
    """

    def __init__(self, *, value=None, address=0, dwords=1, half=-1, literal=False, negative=False, magnitude=False,
                 sign_extended=False):
        if value is not None and not PyLong_Check(value) and not PyFloat_Check(value):
            raise InputError(f"a constant is an int or a float, not {type(value).__name__}")
        for flag in (literal, negative, magnitude, sign_extended):
            if flag is not True and flag is not False:
                raise InputError(f"an operand is literal, negative ... or not: {flag!r} is neither True nor False")
        if not (PyLong_Check(address) and PyLong_Check(dwords) and PyLong_Check(half)):
            raise InputError(f"registers are counted by integers, not {dwords!r} at {address!r}, half {half!r}")
        if not 0 <= address < 4 * 768 or address & 3 or not 1 <= dwords <= 32 or not -1 <= half <= 1:
            raise InputError(f"no registers: {dwords} dwords at {address}, half {half}")
        self.value = value
        self.address = <uint16_t>address
        self.dwords = <uint8_t>dwords
        self.half = <int8_t>half
        self.literal = literal
        self.negative = negative
        self.magnitude = magnitude
        self.sign_extended = sign_extended

    def _key(self):
        return (self.value, type(self.value), self.address, self.dwords, self.half, self.literal, self.negative, self.magnitude,
                self.sign_extended)

    def __eq__(self, other):
        return isinstance(other, Operand) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def __reduce__(self):
        return _restore, self._key()

    cdef Operand copy(self):
        cdef Operand made = Operand.__new__(Operand)
        made.value = self.value
        made.address = self.address
        made.dwords = self.dwords
        made.half = self.half
        made.literal = self.literal
        made.negative = self.negative
        made.magnitude = self.magnitude
        made.sign_extended = self.sign_extended
        return made

    def __neg__(self):
        cdef Operand made = self.copy()
        made.negative = not self.negative
        return made

    def __abs__(self):
        cdef Operand made = self.copy()
        made.negative = False
        made.magnitude = True
        return made

    def sext(self):
        """The operand sign-extended, as SDWA does."""
        cdef Operand made = self.copy()
        made.sign_extended = True
        return made

    cdef Operand with_half(self, int8_t half):
        if self.value is not None or self.dwords != 1:
            raise InputError(f"{self!r} has no halves")
        cdef Operand made = self.copy()
        made.half = half
        return made

    @property
    def l(self):
        """The low half."""
        return self.with_half(0)

    @property
    def h(self):
        """The high half."""
        return self.with_half(1)

    def __repr__(self):
        cdef int code = self.address >> 2
        if self.value is not None:
            text = f"lit({self.value!r})" if self.literal else repr(self.value)
        else:
            kind, first = ("a", 512) if code >= 512 else ("v", 256) if code >= 256 else ("s", 0)
            known = _NAMES.get((code, self.dwords))
            numbers = f"{code - first}" if self.dwords == 1 else f"{code - first}:{code - first + self.dwords - 1}"
            text = known or f"{kind}[{numbers}]"
            if self.half >= 0:
                text += ".h" if self.half else ".l"
        text = f"abs({text})" if self.magnitude else text
        text = f"sext({text})" if self.sign_extended else text
        return f"-{text}" if self.negative else text


_NAMES = {(register_vcc >> 2, 2): "vcc", (register_vcc >> 2, 1): "vcc_lo", (register_vcc_hi >> 2, 1): "vcc_hi",
          (register_m0 >> 2, 1): "m0", (register_null >> 2, 1): "null", (register_exec >> 2, 2): "exec",
          (register_exec >> 2, 1): "exec_lo", (register_exec_hi >> 2, 1): "exec_hi", (register_scc >> 2, 1): "scc"}


def _restore(value, kind, address, dwords, half, literal, negative, magnitude, sign_extended):
    return Operand(value=value, address=address, dwords=dwords, half=half, literal=literal, negative=negative, magnitude=magnitude,
                   sign_extended=sign_extended)


cdef Operand register_operand(uint16_t address, uint8_t dwords, int8_t half):
    cdef Operand made = Operand.__new__(Operand)
    made.address = address
    made.dwords = dwords
    made.half = half
    return made


cdef class RegisterFile:
    """``v``, ``s`` or ``a``: ``v[3]`` is a register, ``v[4:7]`` are four, as text counts them."""

    cdef readonly str letter
    cdef int first
    cdef int count

    def __init__(self, str letter, int first, int count):
        self.letter = letter
        self.first = first
        self.count = count

    def __getitem__(self, index):
        cdef long begin, end
        try:
            if isinstance(index, slice):
                if index.step is not None:
                    raise TypeError
                begin, end = index.start, index.stop
            else:
                begin = end = index
        except (TypeError, OverflowError):
            raise InputError(f"{self.letter}[number] or {self.letter}[first:last] is expected, last included, not {index!r}") from None
        if not 0 <= begin <= end < self.count or end - begin >= 32:
            raise InputError(f"no registers {self.letter}[{begin}:{end}]")
        return register_operand(<uint16_t>(4 * (self.first + begin)), <uint8_t>(end - begin + 1), -1)

    def __len__(self):
        return self.count

    def __iter__(self):
        return (self[number] for number in range(self.count))

    def __repr__(self):
        return self.letter
