"""Kernels that move whole small blocks, at most 256 bytes each, between tiled memory and rows of texels.

What lies side by side in both places, a *piece*, is 1 to 16 bytes. Pieces are gathered in a register, so that every store is one *vector* of
8 or 16 bytes of consecutive addresses: of a row when detiling, of a block when tiling. Blocks follow each other in memory in an order that
no hardware prefetcher guesses, so that the kernels ask for the blocks to come. Several blocks are detiled at once, row after row, because a
row of one block may be less than a cache line.

Texels of a byte in Morton order (bits of x and y take turns: Z modes, thin tiles until GFX8) lie side by side by twos only. Blocks of 8 x 8
of them are loaded whole, and shuffled in registers.
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

__all__ = [
    "MORTON_EDGE", "WORD", "address_of", "ask_second_cache_for", "compiled_inline", "detile_blocks", "detile_morton", "gather", "gathered", "morton",
    "offsets_at", "offsets_of_vector", "tile_blocks", "tile_morton",
]

AHEAD = 8
"""Blocks between the one that moves and the one that is asked for."""

ROW_BYTES = 256
"""Bytes of a row that are detiled before the next row is: more of them are whole cache lines, for any alignment of the texels."""

MORTON_EDGE = 8
"""Width and height of a block of bytes in Morton order."""

WORD = ir.IntType(64)
_BYTES = ir.VectorType(ir.IntType(8), 16)
_PAIR = ir.VectorType(WORD, 2)


def compiled_inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that makes machine code where it is called; its callers leave the first parameter out."""
    return cast(Callable[..., Any], intrinsic(function))


def address_of(context: Any, builder: Any, array_type: Any, array: Any, offset: Any) -> Any:
    """Make code for the address of a byte of an array."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.add(builder.ptrtoint(data, WORD), offset)


def load(builder: Any, place: Any, kind: Any) -> Any:
    """Make code that loads a value from any address."""
    return builder.load(builder.inttoptr(place, kind.as_pointer()), align=1)


def gathered(builder: Any, source: Any, offsets: list[Any], piece_bits: int) -> Any:
    """Make code that loads a vector: piece i of it is `offsets[i]` bytes after the address `source`."""
    # 16-byte pieces move as two words: no vector of one element.
    lane = ir.IntType(min(piece_bits, 64))
    moved = ir.VectorType(lane, len(offsets) * piece_bits // lane.width)
    if len(offsets) == 1:
        return load(builder, builder.add(source, offsets[0]), moved)
    result = ir.Constant(moved, ir.Undefined)
    for i, offset in enumerate(offsets):
        result = builder.insert_element(result, load(builder, builder.add(source, offset), lane), ir.IntType(32)(i))
    return result


def offsets_of_vector(context: Any, builder: Any, order_type: Any, order: Any, index: Any, pieces: int) -> list[Any]:
    """Make code that loads the offsets of the pieces of a vector: `order[index * pieces + i]`."""
    offsets = context.make_array(order_type)(context, builder, order).data
    first = builder.mul(index, WORD(pieces))
    return [builder.load(builder.gep(offsets, [builder.add(first, WORD(i))])) for i in range(pieces)]


@compiled_inline
def offsets_at(typing_context: Any, order: Any, index: Any, piece: Any, vector: Any) -> Any:
    """Return the offsets of the pieces of a vector."""
    pieces = vector.instance_type.bitwidth // piece.instance_type.bitwidth

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        loaded = offsets_of_vector(context, builder, signature.args[0], values[0], values[1], pieces)
        return context.make_tuple(builder, signature.return_type, loaded)

    # numba leaves UniTuple without types
    return cast(Any, types.UniTuple)(types.uint64, pieces)(order, types.uint64, piece, vector), generate


@compiled_inline
def gather(
    typing_context: Any, target: Any, to: Any, source: Any, start: Any, offsets: Any, piece: Any, vector: Any,
) -> Any:
    """Store the vector at byte `to` of `target`: piece i of it is at byte `start + offsets[i]` of `source`."""
    piece_bits, bits = piece.instance_type.bitwidth, vector.instance_type.bitwidth

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        target_address = address_of(context, builder, signature.args[0], values[0], values[1])
        source_address = address_of(context, builder, signature.args[2], values[2], values[3])
        offsets = [builder.extract_value(values[4], i) for i in range(bits // piece_bits)]
        result = gathered(builder, source_address, offsets, piece_bits)
        builder.store(result, builder.inttoptr(target_address, result.type.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(target, types.uint64, source, types.uint64, offsets, piece, vector), generate


def morton(x: int, y: int) -> int:
    """Return the place of a byte in a block: bits of x and y in turn."""
    return sum((x >> i & 1) << 2 * i | (y >> i & 1) << 2 * i + 1 for i in range(3))


# Of half a block, 8 x 4 bytes: which of its 32 bytes stand where in two rows of it, and which of the bytes of its four rows in 16 bytes of memory.
_ROWS = [[morton(x, 2 * pair + y) for y in range(2) for x in range(8)] for pair in range(2)]
_CHUNKS = [[next(8 * y + x for y in range(4) for x in range(8) if morton(x, y) == 16 * chunk + i) for i in range(16)] for chunk in range(2)]


def _shuffled(builder: Any, first: Any, second: Any, order: list[int]) -> Any:
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(ir.IntType(32), 16), order))


@compiled_inline
def _rows_of_morton(typing_context: Any, target: Any, to: Any, pitch: Any, source: Any, start: Any) -> Any:
    """Store four rows of 8 bytes, `pitch` apart, from half a block."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        row = address_of(context, builder, signature.args[0], values[0], values[1])
        place = address_of(context, builder, signature.args[3], values[3], values[4])
        halves = [load(builder, builder.add(place, WORD(16 * i)), _BYTES) for i in range(2)]
        for order in _ROWS:
            rows = builder.bitcast(_shuffled(builder, halves[0], halves[1], order), _PAIR)
            for i in range(2):
                builder.store(builder.extract_element(rows, ir.IntType(32)(i)), builder.inttoptr(row, WORD.as_pointer()), align=1)
                row = builder.add(row, values[2])
        return context.get_dummy_value()

    return types.void(target, types.uint64, types.uint64, source, types.uint64), generate


@compiled_inline
def _morton_of_rows(typing_context: Any, target: Any, to: Any, source: Any, start: Any, pitch: Any) -> Any:
    """Store half a block from four rows of 8 bytes, `pitch` apart."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = address_of(context, builder, signature.args[0], values[0], values[1])
        row = address_of(context, builder, signature.args[2], values[2], values[3])
        pairs = []
        for _ in range(2):
            pair = ir.Constant(_PAIR, ir.Undefined)
            for i in range(2):
                pair = builder.insert_element(pair, load(builder, row, WORD), ir.IntType(32)(i))
                row = builder.add(row, values[4])
            pairs.append(builder.bitcast(pair, _BYTES))
        for i, order in enumerate(_CHUNKS):
            chunk = builder.inttoptr(builder.add(place, WORD(16 * i)), _BYTES.as_pointer())
            builder.store(_shuffled(builder, pairs[0], pairs[1], order), chunk, align=1)
        return context.get_dummy_value()

    return types.void(target, types.uint64, source, types.uint64, types.uint64), generate


def _prefetching(locality: int) -> Callable[..., Any]:
    """Return a function of an array and an offset that prefetches the cache line of a byte."""

    def ask(typing_context: Any, array: Any, offset: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            pointer, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
            prefetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag]))
            place = builder.inttoptr(address_of(context, builder, signature.args[0], values[0], values[1]), pointer)
            # to be read, data
            builder.call(prefetch, [place, flag(0), flag(locality), flag(1)])
            return context.get_dummy_value()

        return types.void(array, types.uint64), generate

    return compiled_inline(ask)


ask_for = _prefetching(3)
"""Prefetch a line into every cache."""

ask_second_cache_for = _prefetching(2)
"""Prefetch a line into the second cache, which has room for many more to be under way than the first."""


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
                    ask_for(memory, np.uint64(start + (columns[k] ^ flip) + line))
            for k in range(first, last):
                blocks[k - first] = start + (columns[k] ^ flip)
            # Unsigned indices: numba would test signed ones for being negative.
            for j in range(height):
                for v in range(vectors):
                    to = np.uint64(place + (i * height + j) * pitch + first * width) + v * np.uint64(vector_bytes)
                    offsets = offsets_at(order, np.uint64(j) * vectors + v, piece, vector)
                    for k in range(np.uint64(last - first)):
                        gather(texels, to, memory, blocks[k], offsets, piece, vector)
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
                    ask_for(memory, np.uint64(start + (columns[k + AHEAD] ^ flip) + line))
            to = np.uint64(start + (columns[k] ^ flip))
            source = np.uint64(place + i * height * pitch + k * width)
            for v in range(vectors):
                gather(memory, to, texels, source, offsets_at(order, v, piece, vector), piece, vector)
                to += np.uint64(vector_bytes)


@kernel
def detile_morton(memory: Table, texels: Table, columns: Table, rows: Table, low: int, base: int, place: int, pitch: int) -> None:
    """`detile_blocks` of 8 x 8 bytes in Morton order."""
    wide, step = len(columns), np.uint64(pitch)
    for i in range(len(rows)):
        flip = (base ^ rows[i]) & low
        start = (base & ~low) + (rows[i] & ~low)
        for k in range(wide):
            if k + AHEAD < wide:
                ask_for(memory, np.uint64(start + (columns[k + AHEAD] ^ flip)))
            source = np.uint64(start + (columns[k] ^ flip))
            to = np.uint64(place + i * MORTON_EDGE * pitch + k * MORTON_EDGE)
            _rows_of_morton(texels, to, step, memory, source)
            _rows_of_morton(texels, to + np.uint64(4) * step, step, memory, source + np.uint64(32))


@kernel
def tile_morton(memory: Table, texels: Table, columns: Table, rows: Table, low: int, base: int, place: int, pitch: int) -> None:
    """The same in the other direction."""
    wide, step = len(columns), np.uint64(pitch)
    for i in range(len(rows)):
        flip = (base ^ rows[i]) & low
        start = (base & ~low) + (rows[i] & ~low)
        for k in range(wide):
            if k + AHEAD < wide:
                ask_for(memory, np.uint64(start + (columns[k + AHEAD] ^ flip)))
            to = np.uint64(start + (columns[k] ^ flip))
            source = np.uint64(place + i * MORTON_EDGE * pitch + k * MORTON_EDGE)
            _morton_of_rows(memory, to, texels, source, step)
            _morton_of_rows(memory, to + np.uint64(32), texels, source + np.uint64(4) * step, step)
