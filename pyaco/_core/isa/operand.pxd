"""An operand of an instruction as a Python object: registers or a constant, with the signs that text writes around it."""
from libc.stdint cimport int8_t, uint8_t, uint16_t

cdef class Operand:
    cdef readonly object value        # int or float of a constant; None for registers
    cdef readonly uint16_t address
    cdef readonly uint8_t dwords
    cdef readonly int8_t half         # -1: a whole register
    cdef readonly bint literal
    cdef readonly bint negative
    cdef readonly bint magnitude
    cdef readonly bint sign_extended

    cdef Operand copy(self)
    cdef Operand with_half(self, int8_t half)

cdef Operand register_operand(uint16_t address, uint8_t dwords, int8_t half)
