"""Kernels that move whole small blocks, at most 256 bytes each, between tiled memory and rows of texels.

What lies side by side in both places, a *piece*, is 1 to 16 bytes. Pieces are gathered in a register, so that every store is one *vector* of
8 or 16 bytes of consecutive addresses: of a row when detiling, of a block when tiling. Blocks follow each other in memory in an order that
no hardware prefetcher guesses, so that the kernels ask for the blocks to come. Several blocks are detiled at once, row after row, because a
row of one block may be less than a cache line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from pyaco.addrlib.kernels import kernel
from pyaco.addrlib.records import Table

__all__ = ["detile_blocks", "tile_blocks"]

AHEAD = 8
"""Blocks between the one that moves and the one that is asked for."""

ROW_BYTES = 256
"""Bytes of a row that are detiled before the next row is: more of them are whole cache lines, for any alignment of the texels."""

_WORD = ir.IntType(64)


def _intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that makes machine code where it is called; its callers leave the first parameter out."""
    return cast(Callable[..., Any], intrinsic(function))


def _address(context: Any, builder: Any, array_type: Any, array: Any, offset: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.add(builder.ptrtoint(data, _WORD), offset)


@_intrinsic
def _offsets(typing_context: Any, order: Any, index: Any, piece: Any, vector: Any) -> Any:
    """Return the offsets of the pieces of a vector: `order[index * pieces + i]`."""
    pieces = vector.instance_type.bitwidth // piece.instance_type.bitwidth

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        offsets = context.make_array(signature.args[0])(context, builder, values[0]).data
        first = builder.mul(values[1], _WORD(pieces))
        loaded = [builder.load(builder.gep(offsets, [builder.add(first, _WORD(i))])) for i in range(pieces)]
        return context.make_tuple(builder, signature.return_type, loaded)

    # numba leaves UniTuple without types
    return cast(Any, types.UniTuple)(types.uint64, pieces)(order, types.uint64, piece, vector), generate


@_intrinsic
def _gather(
    typing_context: Any, target: Any, to: Any, source: Any, start: Any, offsets: Any, piece: Any, vector: Any,
) -> Any:
    """Store the vector at byte `to` of `target`: piece i of it is at byte `start + offsets[i]` of `source`."""
    piece_bits, bits = piece.instance_type.bitwidth, vector.instance_type.bitwidth
    pieces = bits // piece_bits

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        target_address = _address(context, builder, signature.args[0], values[0], values[1])
        source_address = _address(context, builder, signature.args[2], values[2], values[3])
        # 16-byte pieces move as two words: no vector of one element.
        lane = ir.IntType(min(piece_bits, 64))
        moved = ir.VectorType(lane, bits // lane.width)
        result = ir.Constant(moved, ir.Undefined)
        for i in range(pieces):
            place = builder.add(source_address, builder.extract_value(values[4], i))
            if pieces == 1:
                result = builder.load(builder.inttoptr(place, moved.as_pointer()), align=1)
            else:
                element = builder.load(builder.inttoptr(place, lane.as_pointer()), align=1)
                result = builder.insert_element(result, element, ir.IntType(32)(i))
        builder.store(result, builder.inttoptr(target_address, moved.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(target, types.uint64, source, types.uint64, offsets, piece, vector), generate


@_intrinsic
def _ask_for(typing_context: Any, array: Any, offset: Any) -> Any:
    """Prefetch the cache line of a byte."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        flag = ir.IntType(32)
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag]))
        place = builder.inttoptr(_address(context, builder, signature.args[0], values[0], values[1]), pointer)
        # To be read, kept in every cache, data.
        builder.call(prefetch, [place, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64), generate


@kernel
def detile_blocks(
    memory: Table, texels: Table, columns: Table, rows: Table, low: int, base: int, place: int, pitch: int, order: Table, height: int,
    width: int, size: int, piece: Any, vector: Any, vector_bytes: int,
) -> None:
    """Move blocks to texels, in bytes: block (i, k) from `columns[k]`, `rows[i]` (xored in the bits of `low`, else added).

    The first one goes to `place`; rows of texels are `pitch` apart, blocks are `width` bytes by `height` rows, `size` bytes in all. `order`
    says where in the block each piece is, row by row.
    """
    wide, vectors = len(columns), np.uint64(width // vector_bytes)
    at_once = max(4, ROW_BYTES // width)
    blocks = np.empty(at_once, np.uint64)
    for i in range(len(rows)):
        flip = (base ^ rows[i]) & low
        start = (base & ~low) + (rows[i] & ~low)
        for first in range(0, wide, at_once):
            last = min(first + at_once, wide)
            for k in range(first + AHEAD, min(last + AHEAD, wide)):
                for line in range(0, size, 64):
                    _ask_for(memory, np.uint64(start + (columns[k] ^ flip) + line))
            for k in range(first, last):
                blocks[k - first] = start + (columns[k] ^ flip)
            # Unsigned indices: numba would test signed ones for being negative.
            for j in range(height):
                for v in range(vectors):
                    to = np.uint64(place + (i * height + j) * pitch + first * width) + v * np.uint64(vector_bytes)
                    offsets = _offsets(order, np.uint64(j) * vectors + v, piece, vector)
                    for k in range(np.uint64(last - first)):
                        _gather(texels, to, memory, blocks[k], offsets, piece, vector)
                        to += np.uint64(width)


@kernel
def tile_blocks(
    memory: Table, texels: Table, columns: Table, rows: Table, low: int, base: int, place: int, pitch: int, order: Table, height: int,
    width: int, size: int, piece: Any, vector: Any, vector_bytes: int,
) -> None:
    """The same in the other direction; `order` says where in the texels each piece of a block is."""
    wide, vectors = len(columns), np.uint64(size // vector_bytes)
    for i in range(len(rows)):
        flip = (base ^ rows[i]) & low
        start = (base & ~low) + (rows[i] & ~low)
        for k in range(wide):
            if k + AHEAD < wide:
                for line in range(0, size, 64):
                    _ask_for(memory, np.uint64(start + (columns[k + AHEAD] ^ flip) + line))
            to = np.uint64(start + (columns[k] ^ flip))
            source = np.uint64(place + i * height * pitch + k * width)
            for v in range(vectors):
                _gather(memory, to, texels, source, _offsets(order, v, piece, vector), piece, vector)
                to += np.uint64(vector_bytes)
