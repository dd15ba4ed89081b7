"""The shaders that write metadata of surfaces, and texels by it: fast clears, their elimination, expansion of FMASK, displayable DCC.

Memory is bound as buffers of elements. Where metadata lies comes from tables, which `pyaco.addrlib` fills; DCC for displays is found by
its equation in the shader. That drivers have such shaders is known from Mesa's RADV (``radv_meta_clear.c``, ``radv_meta_fmask_expand.c``,
``radv_meta_dcc_retile.c``).
"""

from __future__ import annotations

from pyaco._core.nir import build
from pyaco.meta.builder import Key, LayoutKey, MetaBuilder

__all__ = ["CONSTANT", "FIRST_ELEMENT", "blocks_of_codes", "cleared_nibbles", "cleared_tiles", "codes_of_blocks", "expand_fmask", "first_elements",
           "mask_places", "mask_range", "retile_dcc"]

CONSTANT, FIRST_ELEMENT = 1, 2
"""What the table of `blocks_of_codes` says of a code: a constant colour; the colour of the block's first element; 0 leaves the block."""
_PARTS_LOG2 = 4
"""A block of DCC is 256 bytes, an element of 16 bytes a part of it."""
_UNCOMPRESSED = 0xFF
_TILE_LOG2 = 3


def _scalar(b: MetaBuilder, texture: int, at: int) -> int:
    """Return the only component of a buffer's element."""
    return b.component(b.fetch(texture, "buf", at), 0)


def _put(b: MetaBuilder, buffer: int, at: int, value: int) -> None:
    """Write a buffer's element of one component."""
    b.store_texel(buffer, "buf", [at], b.vec(value, value, value, value))


def _masked(b: MetaBuilder, at: int, word: int, mask: int) -> None:
    """Write the bits of a mask into a dword; binding 0 reads the memory, 1 writes it."""
    source, buffer = b.resource(0, "texture", "buf"), b.resource(1, "image", "buf")
    _put(b, buffer, at, b.ior(b.iand(_scalar(b, source, at), b.inot(mask)), b.iand(word, mask)))


def mask_range(b: MetaBuilder, key: Key) -> None:
    """Push constants: dwords, the first, a word, and its bits that are written."""
    count, first, word, mask = b.push(0, 4)
    with b.if_(b.inside([count])):
        _masked(b, b.place([first])[0], word, mask)


def mask_places(b: MetaBuilder, key: Key) -> None:
    """Push constants: dwords, a word. The table (binding 2) has the place of each, and its bits that are written."""
    count, word = b.push(0, 2)
    with b.if_(b.inside([count])):
        row = b.fetch(b.resource(2, "texture", "buf"), "buf", b.id(0))
        _masked(b, b.component(row, 0), word, b.component(row, 1))


def first_elements(b: MetaBuilder, key: Key) -> None:
    """Push constants: blocks, the logarithm of elements in one, the colour's bits. The table (binding 2) has the numbers of the blocks."""
    count, scale, *color = b.push(0, 6)
    with b.if_(b.inside([count])):
        block = _scalar(b, b.resource(2, "texture", "buf"), b.id(0))
        b.store_texel(b.resource(1, "image", "buf"), "buf", [b.ishl(block, scale)], b.vec(*color))


def _replicated(b: MetaBuilder, texel: int, size: int) -> list[int]:
    """Return 16 bytes that repeat the first element, of so many bytes, of what was read."""
    words = [b.component(texel, number) for number in range(4)]
    byte, half = (b.imul(b.iand(words[0], b.imm(mask)), b.imm(repeat)) for mask, repeat in ((0xFF, 0x01010101), (0xFFFF, 0x10001)))
    small = b.bcsel(b.ieq(size, b.imm(1)), byte, b.bcsel(b.ieq(size, b.imm(2)), half, words[0]))
    wide, whole = b.ieq(size, b.imm(8)), b.ieq(size, b.imm(16))
    return [b.bcsel(whole, words[number], b.bcsel(wide, words[number & 1], small)) for number in range(4)]


def blocks_of_codes(b: MetaBuilder, key: Key) -> None:
    """Fill blocks of texels as their code says, 16 bytes an invocation.

    Push constants: elements of 16 bytes, bytes of a texel. Binding 0 is the memory as bytes, 1 and 4 as elements of 16 bytes; table 2 has number
    and place of the code of each block, table 3 two rows for each code: 16 bytes, and what they are.
    """
    count, size = b.push(0, 2)
    codes, target, table, colors, source = (
        b.resource(binding, "image" if binding == 1 else "texture", "buf") for binding in range(5))
    with b.if_(b.inside([count])):
        row = b.fetch(table, "buf", b.ushr(b.id(0), b.imm(_PARTS_LOG2)))
        code = b.ishl(_scalar(b, codes, b.component(row, 1)), b.imm(1))
        first = b.ishl(b.component(row, 0), b.imm(_PARTS_LOG2))
        kind = _scalar(b, colors, b.iadd(code, b.imm(1)))
        with b.if_(b.ine(kind, b.imm(0))):
            color, own = b.fetch(colors, "buf", code), _replicated(b, b.fetch(source, "buf", first), size)
            is_own = b.ieq(kind, b.imm(FIRST_ELEMENT))
            value = b.vec(*(b.bcsel(is_own, own[number], b.component(color, number)) for number in range(4)))
            b.store_texel(target, "buf", [b.iadd(first, b.iand(b.id(0), b.imm((1 << _PARTS_LOG2) - 1)))], value)


def codes_of_blocks(b: MetaBuilder, key: Key) -> None:
    """Say of blocks that `blocks_of_codes` filled that they are not compressed; bindings as there, push constants: blocks, bytes of a texel."""
    count = b.push(0)[0]
    codes, target, table, colors = (b.resource(binding, "image" if binding == 1 else "texture", "buf") for binding in range(4))
    with b.if_(b.inside([count])):
        at = b.component(b.fetch(table, "buf", b.id(0)), 1)
        kind = _scalar(b, colors, b.iadd(b.ishl(_scalar(b, codes, at), b.imm(1)), b.imm(1)))
        with b.if_(b.ine(kind, b.imm(0))):
            _put(b, target, at, b.imm(_UNCOMPRESSED))


def cleared_tiles(b: MetaBuilder, key: Key) -> None:
    """Write texels of tiles of 8 by 8 pixels whose metadata has zero in a field.

    Push constants: extent, first place, tiles of a row and of a layer, first bit and mask of the field, the texel's bits. Binding 0 is metadata as
    dwords, 1 the image, table 2 has the place of each tile's metadata in nibbles.
    """
    extent, first, (columns, tiles, shift, mask) = b.push(0, 3), b.push(3, 3), b.push(6, 4)
    metadata, image, table = b.resource(0, "texture", "buf"), b.resource(1, "image", key.dim), b.resource(2, "texture", "buf")
    with b.if_(b.inside(extent)):
        place, texel = b.place(first), b.vec(*b.push(10, 4))
        x, y = (b.ushr(place[axis], b.imm(_TILE_LOG2)) for axis in range(2))
        nibble = _scalar(b, table, b.iadd(b.iadd(b.imul(place[2], tiles), b.imul(y, columns)), x))
        word = _scalar(b, metadata, b.ushr(nibble, b.imm(3)))
        bit = b.iadd(b.ishl(b.iand(nibble, b.imm(7)), b.imm(2)), shift)
        with b.if_(b.ieq(b.iand(b.ushr(word, bit), mask), b.imm(0))):
            for number in range(key.samples):
                b.store_texel(image, key.dim, place, texel, sample=b.imm(number) if key.samples > 1 else None)


def cleared_nibbles(b: MetaBuilder, key: Key) -> None:
    """Replace nibbles that are zero. Push constants: dwords, the first, what takes their place."""
    count, first, code = b.push(0, 3)
    source, buffer = b.resource(0, "texture", "buf"), b.resource(1, "image", "buf")
    with b.if_(b.inside([count])):
        at = b.place([first])[0]
        word = _scalar(b, source, at)
        for shift in range(0, 32, 4):
            is_zero = b.ieq(b.iand(word, b.imm(0xF << shift)), b.imm(0))
            word = b.ior(word, b.bcsel(is_zero, b.ishl(code, b.imm(shift)), b.imm(0)))
        _put(b, buffer, at, word)


def expand_fmask(b: MetaBuilder, key: Key) -> None:
    """Store every sample in the fragment of its own number. Push constants: extent, first place; binding 0 is FMASK, 1 the image.

    All fragments are read before one is written, as images and not as textures, whose reads need no order. Of FMASK texture units give
    four bits for each sample.
    """
    extent, first = b.push(0, 3), b.push(3, 3)
    fmask, image = b.resource(0, "texture", "2d"), b.resource(1, "image", "ms")
    with b.if_(b.inside(extent)):
        place = b.place(first)
        word = b.component(b.fetch(fmask, "2d", b.vec(*place)), 0)
        fragments = [b.iand(b.ushr(word, b.imm(4 * number)), b.imm(15)) for number in range(key.samples)]
        four, row = b.vec(*place, b.imm(0)), build.IMAGE_DIMS["ms"][0]
        texels = [b.intrinsic("image_deref_load", image, four, fragment, b.imm(0), components=4, image_dim=row, image_array=1, dest_type=2 << 8 | 32)
                  for fragment in fragments]
        for number, texel in enumerate(texels):
            b.store_texel(image, "ms", place, texel, sample=b.imm(number))


def _byte_address(b: MetaBuilder, layout: LayoutKey, x: int, y: int, pitch: int) -> int:
    """Return the place, in bytes, of the metadata of a texel of the first layer; `pitch` is meta blocks of a row.

    The parity of several masked coordinates is that of their xor.
    """
    columns, rows, _ = layout.block_log2
    number = b.iadd(b.imul(b.ushr(y, b.imm(rows)), pitch), b.ushr(x, b.imm(columns)))
    address = b.ishl(b.ushr(number, b.imm(layout.block_bit)), b.imm(len(layout.masks) - 1))
    for bit, (of_x, of_y, _, _, of_number) in enumerate(layout.masks[1:]):
        held = [b.iand(value, b.imm(mask)) for value, mask in ((x, of_x), (y, of_y), (number, of_number)) if mask]
        if not held:
            continue
        mixed = held[0]
        for other in held[1:]:
            mixed = b.ixor(mixed, other)
        address = b.ior(address, b.ishl(b.iand(b.bit_count(mixed), b.imm(1)), b.imm(bit)))
    return address


def retile_dcc(b: MetaBuilder, key: Key) -> None:
    """Copy the code of each block to where the display reads it.

    Push constants: blocks in x and y, texels of a block in x and y, then the start in bytes and the meta blocks of a row, of DCC and of displayable
    DCC. The key's equations are those of both.
    """
    extent, (width, height) = b.push(0, 2), b.push(2, 2)
    source, target = b.resource(0, "texture", "buf"), b.resource(1, "image", "buf")
    with b.if_(b.inside(extent)):
        x, y = b.imul(b.id(0), width), b.imul(b.id(1), height)
        places = []
        for number, layout in enumerate(key.equations):
            start, pitch = b.push(4 + 2 * number, 2)
            places.append(b.iadd(start, _byte_address(b, layout, x, y, pitch)))
        _put(b, target, places[1], _scalar(b, source, places[0]))
