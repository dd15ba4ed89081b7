"""Kernels that move whole large tiles (64 KiB or so of consecutive memory) between tiled memory and rows of texels.

Pictures larger than the caches are bound by memory, and what counts there is the order. Cache lines are written whole and past the caches, so that
nothing is read for them; one that reaches over two tiles is written with the second. Beside each line that is written, one of the tiles to come is
prefetched into the second cache, in the order in which memory has them.

Pieces and vectors, of 16 bytes here, are those of `block_copy`; four vectors are a line.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types

from pyaco.addrlib.block_copy import WORD, address_of, ask_second_cache_for, compiled_inline, gather, gathered, offsets_at, offsets_of_vector
from pyaco.addrlib.kernels import kernel
from pyaco.addrlib.records import Table

__all__ = ["LINE", "VECTOR", "detile_tiles", "tile_tiles"]

LINE = 64
"""Bytes of a cache line."""

VECTOR = 16
"""Bytes of a vector."""

FOUR = LINE // VECTOR
"""Vectors of a line."""

TOGETHER = 2
"""Tiles side by side that are detiled together: longer runs of each row."""


@compiled_inline
def _offsets_of_line(typing_context: Any, order: Any, indices: Any, piece: Any) -> Any:
    """Return the offsets of the pieces of four vectors."""
    pieces = VECTOR * 8 // piece.instance_type.bitwidth

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        loaded = []
        for i in range(FOUR):
            loaded += offsets_of_vector(context, builder, signature.args[0], values[0], builder.extract_value(values[1], i), pieces)
        return context.make_tuple(builder, signature.return_type, loaded)

    return cast(Any, types.UniTuple)(types.uint64, FOUR * pieces)(order, indices, piece), generate


@compiled_inline
def _stream(typing_context: Any, target: Any, to: Any, source: Any, starts: Any, offsets: Any, piece: Any) -> Any:
    """Store the line at byte `to` past the caches: the pieces of vector i of it are at `starts[i]` and their offsets."""
    piece_bits, pieces = piece.instance_type.bitwidth, offsets.count // FOUR

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vectors = []
        for i in range(FOUR):
            start = address_of(context, builder, signature.args[2], values[2], builder.extract_value(values[3], i))
            places = [builder.extract_value(values[4], i * pieces + k) for k in range(pieces)]
            vectors.append(builder.bitcast(gathered(builder, start, places, piece_bits), ir.VectorType(WORD, 2)))
        while len(vectors) > 1:
            lanes = ir.Constant(ir.VectorType(ir.IntType(32), 2 * vectors[0].type.count), list(range(2 * vectors[0].type.count)))
            vectors = [builder.shuffle_vector(low, high, lanes) for low, high in zip(vectors[::2], vectors[1::2], strict=True)]
        place = address_of(context, builder, signature.args[0], values[0], values[1])
        store = builder.store(vectors[0], builder.inttoptr(place, vectors[0].type.as_pointer()), align=LINE)
        store.set_metadata("nontemporal", builder.module.add_metadata([ir.IntType(32)(1)]))
        return context.get_dummy_value()

    return types.void(target, types.uint64, source, starts, offsets, piece), generate


@compiled_inline
def _finish(typing_context: Any) -> Any:
    """Let everyone see what has been stored past the caches before what is stored from now on."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


@kernel
def detile_tiles(
    memory: Table, texels: Table, columns: Table, rows: Table, low: int, base: int, place: int, pitch: int, order: Table, height: int,
    width: int, piece: Any, vector: Any, shift: int, tile: int, across: int, down: int, origin: int,
) -> None:
    """`block_copy.detile_blocks` of whole tiles: `tile` bytes, `across` by `down` blocks, of whose rows each is `1 << shift` vectors.

    `origin` is where in its cache line the first byte of the texels lies; every row begins at a multiple of a vector.
    """
    wide, high, group, spill = len(columns), len(rows), across * TOGETHER, max(FOUR >> shift, 1)
    bits, inside, line, step = np.uint64(shift), np.uint64((1 << shift) - 1), np.uint64(LINE), np.uint64(VECTOR)
    more, all_bytes = np.uint64(FOUR >> shift), np.uint64(tile)
    blocks, coming = np.empty(wide, np.uint64), np.empty(TOGETHER, np.uint64)
    for top in range(0, high, down):
        for left in range(0, wide, group):
            right = min(left + group, wide)
            next_left, next_top = (right, top) if right < wide else (0, top + down)
            tiles, asked, ask_at = np.uint64(0), np.uint64(0), np.uint64(0)
            if next_top < high:
                for k in range(next_left, min(next_left + group, wide), across):
                    start = (base & ~low) + (rows[next_top] & ~low) + (columns[k] ^ ((base ^ rows[next_top]) & low))
                    coming[tiles] = start & ~(tile - 1)
                    tiles += np.uint64(1)
            for i in range(top, top + down):
                flip = (base ^ rows[i]) & low
                start = (base & ~low) + (rows[i] & ~low)
                for k in range(max(left - spill, 0), right):
                    blocks[k] = start + (columns[k] ^ flip)
                for j in range(height):
                    row, of_row = place + (i * height + j) * pitch, np.uint64(j << shift)
                    before = ((origin + row) & (LINE - 1)) // VECTOR            # vectors of others in the line where the row begins
                    begin = (left << shift) - before if left else 0
                    end = (right << shift) - before if right < wide else right << shift
                    first = min(begin + (-(begin + before) & FOUR - 1), end)
                    last = first + ((end - first) & -FOUR)
                    for n in range(first - begin + end - last):
                        v = np.uint64(begin + n if begin + n < first else last + n - (first - begin))
                        gather(texels, np.uint64(row) + v * step, memory, blocks[v >> bits],
                               offsets_at(order, of_row + (v & inside), piece, vector), piece, vector)
                    a, b, c, d = np.uint64(first), np.uint64(first + 1), np.uint64(first + 2), np.uint64(first + 3)
                    # a block has no more vectors of a row than a line, so that the offsets are the same for all lines
                    offsets = _offsets_of_line(
                        order, (of_row + (a & inside), of_row + (b & inside), of_row + (c & inside), of_row + (d & inside)), piece)
                    a, b, c, d = a >> bits, b >> bits, c >> bits, d >> bits
                    to = np.uint64(row + first * VECTOR)
                    for _ in range((last - first) // FOUR):
                        _stream(texels, to, memory, (blocks[a], blocks[b], blocks[c], blocks[d]), offsets, piece)
                        a, b, c, d, to = a + more, b + more, c + more, d + more, to + line
                        if asked < tiles:
                            ask_second_cache_for(memory, coming[asked] + ask_at)
                            ask_at += line
                            if ask_at == all_bytes:
                                asked, ask_at = asked + np.uint64(1), np.uint64(0)
    _finish()


@kernel
def tile_tiles(
    memory: Table, texels: Table, columns: Table, rows: Table, low: int, base: int, place: int, pitch: int, order: Table, height: int,
    width: int, piece: Any, vector: Any, shift: int, tile: int, across: int, down: int, origin: int,
) -> None:
    """The same in the other direction: `order` says where in the texels each piece of a block is, whose vectors are `1 << shift` in all.

    `origin` is where in its cache line the first byte of the memory lies.
    """
    wide, high, size = len(columns), len(rows), VECTOR << shift
    bits, inside, line, step = np.uint64(shift), np.uint64((1 << shift) - 1), np.uint64(LINE), np.uint64(VECTOR)
    row_bytes = np.uint64(across * width)
    blocks = np.empty(across * down, np.uint64)
    for top in range(0, high, down):
        for left in range(0, wide, across):
            begin = 0
            for i in range(top, top + down):
                flip = (base ^ rows[i]) & low
                start = (base & ~low) + (rows[i] & ~low)
                for k in range(left, left + across):
                    begin = start + (columns[k] ^ flip)
                    # where its texels are, in the order that memory has the blocks in
                    blocks[np.uint64((begin & (tile - 1)) // size)] = place + i * height * pitch + k * width
            begin &= ~(tile - 1)
            next_left, next_top = (left + across, top) if left + across < wide else (0, top + down)
            ask_row, ask_at = np.uint64(place + next_top * height * pitch + next_left * width), np.uint64(0)
            first, end = -((origin + begin) // VECTOR) & FOUR - 1, tile // VECTOR
            last = first + ((end - first) & -FOUR)
            for n in range(first + end - last):
                v = np.uint64(n if n < first else last + n - first)
                gather(memory, np.uint64(begin) + v * step, texels, blocks[v >> bits], offsets_at(order, v & inside, piece, vector), piece, vector)
            for n in range(first, last, FOUR):
                a, b, c, d = np.uint64(n), np.uint64(n + 1), np.uint64(n + 2), np.uint64(n + 3)
                offsets = _offsets_of_line(order, (a & inside, b & inside, c & inside, d & inside), piece)
                _stream(memory, np.uint64(begin) + a * step, texels, (blocks[a >> bits], blocks[b >> bits], blocks[c >> bits], blocks[d >> bits]),
                        offsets, piece)
                if next_top < high:
                    ask_second_cache_for(texels, ask_row + ask_at)
                    ask_at += line
                    if ask_at >= row_bytes:
                        ask_row, ask_at = ask_row + np.uint64(pitch), np.uint64(0)
    _finish()
