"""Modules that mean the same: with lengths for arrays of descriptors, and with arithmetic that is not rearranged.

Lavapipe of Mesa 22.3 counts an array's descriptors by its declared length, and so has no images behind one without a length: stores and atomics do
nothing, sizes are zero, or the process dies. With the length declared, it gives what the other implementations give.
"""

from __future__ import annotations

import numpy as np
import spirv_reflection as declared

OP_CONSTANT, OP_DECORATE, FIRST_TYPE, LAST_TYPE, NO_CONTRACTION = 43, 71, 19, 39, 42
#: OpFNegate, OpFAdd, OpFSub, OpFMul, OpFDiv, OpFRem, OpFMod, OpVectorTimesScalar to OpDot.
ARITHMETIC = {127, 129, 131, 133, 136, 140, 141, *range(142, 149)}


def with_lengths(spirv: bytes, length: int) -> bytes:
    """The module with `length` elements in each array of descriptors that has no length of its own."""
    module = declared.Module(spirv)
    pointees = {module.types[pointer][1][1] for _, pointer, storage in module.variables if storage != declared.STORAGE_PUSH_CONSTANT}
    arrays = {each for each in pointees if module.types.get(each, (0,))[0] == declared.OP_TYPE_RUNTIME_ARRAY}
    if not arrays:
        return spirv
    words = np.frombuffer(spirv[: len(spirv) // 4 * 4], np.uint32).tolist()
    number = next((each for each, (opcode, operands) in module.types.items() if opcode == declared.OP_TYPE_INT and operands == (32, 0)), 0)
    head, position, done = words[:5], 5, False
    head[3] += 2
    integer, constant = number or words[3], words[3] + 1
    while position < len(words):
        size, opcode = words[position] >> 16, words[position] & 0xFFFF
        found = words[position : position + size]
        position += max(size, 1)
        if FIRST_TYPE <= opcode <= LAST_TYPE and not done:
            head += [4 << 16 | declared.OP_TYPE_INT, integer, 32, 0, 4 << 16 | OP_CONSTANT, integer, constant, length]
            done = True
        if opcode == declared.OP_TYPE_INT and found[1] == number:
            continue                          # it stands before the first type now
        if opcode == declared.OP_TYPE_RUNTIME_ARRAY and found[1] in arrays:
            found = [4 << 16 | declared.OP_TYPE_ARRAY, found[1], found[2], constant]
        head += found
    return np.array(head, np.uint32).tobytes()


def without_contraction(spirv: bytes) -> bytes:
    """The module with NoContraction on all arithmetic of floats: what it may compute is part of what it might before."""
    words = np.frombuffer(spirv[: len(spirv) // 4 * 4], np.uint32).tolist()
    position, first, decorations = 5, 0, []
    while position < len(words):
        opcode = words[position] & 0xFFFF
        if FIRST_TYPE <= opcode <= LAST_TYPE and not first:
            first = position
        if opcode in ARITHMETIC:
            decorations += [3 << 16 | OP_DECORATE, words[position + 2], NO_CONTRACTION]
        position += max(words[position] >> 16, 1)
    return np.array(words[:first] + decorations + words[first:], np.uint32).tobytes()
