"""Arrays of descriptors without a length, declared with the length that is bound: what a module computes stays the same.

Lavapipe of Mesa 22.3 counts an array's descriptors by its declared length, and so has no images behind one without a length: stores and atomics do
nothing, sizes are zero, or the process dies. With the length declared, it gives what the other implementations give.
"""

from __future__ import annotations

import numpy as np
import spirv_reflection as declared

OP_CONSTANT, FIRST_TYPE, LAST_TYPE = 43, 19, 39


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
