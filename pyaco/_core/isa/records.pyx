"""Instructions as Python sees them: arrays of records, and dicts."""
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from isa_opcodes cimport *
from isa_tables cimport opcode_mask_class, opcode_operand_count
from pyaco._core.isa.decode cimport Decoded, decode, decoded_source_limit
from pyaco._core.isa.encode cimport *

#: Layout of the records of ``decode_records``: where the instruction is, then the fields of ``Decoded``.
RECORD = {
    "names": ["offset", "opcode", "format", "dwords", "source_count", "destination_count", "has_literal", "sources",
              "source_bytes", "destinations", "destination_bytes", "literal", "immediate", "modifiers"],
    "formats": ["u4", "u2", "u2", "u1", "u1", "u1", "u1", f"({decoded_source_limit},)u2", f"({decoded_source_limit},)u1",
                "(3,)u2", "(3,)u1", "u4", "u4", "u8"],
}


def decode_records(const uint32_t[::1] words, uint32_t gfx_level, unsigned char[::1] out, offsets, Py_ssize_t size):
    """Decode every instruction of `words` into `out`, records of `size` bytes with fields at `offsets`; returns their number.

    `out` has room for a record a word, laid out as ``RECORD`` says.
    """
    cdef Py_ssize_t at[14]                      # of each field in a record
    cdef uint32_t position = 0
    cdef uint32_t count = <uint32_t>words.shape[0]
    cdef Py_ssize_t record = 0
    cdef unsigned char *base
    cdef Decoded d
    cdef int i
    if out.shape[0] < size * words.shape[0] or len(offsets) != 14:
        raise ValueError("the records have no room")
    for i in range(14):
        at[i] = offsets[i]
    with nogil:
        while position < count:
            memset(&d, 0, sizeof(d))
            decode(&words[position], count - position, gfx_level, &d)
            if d.opcode == op_invalid:
                # the word itself, so that records say everything
                d.literal = words[position]
            base = &out[record * size]
            (<uint32_t *>(base + at[0]))[0] = position * 4
            (<uint16_t *>(base + at[1]))[0] = d.opcode
            (<uint16_t *>(base + at[2]))[0] = d.format
            base[at[3]] = d.dwords
            base[at[4]] = d.source_count
            base[at[5]] = d.destination_count
            base[at[6]] = d.has_literal
            memcpy(base + at[7], d.source, sizeof(d.source))
            memcpy(base + at[8], d.source_bytes, sizeof(d.source_bytes))
            memcpy(base + at[9], d.destination, sizeof(d.destination))
            memcpy(base + at[10], d.destination_bytes, sizeof(d.destination_bytes))
            (<uint32_t *>(base + at[11]))[0] = d.literal
            (<uint32_t *>(base + at[12]))[0] = d.immediate
            (<uint64_t *>(base + at[13]))[0] = d.modifiers
            record += 1
            position += d.dwords
    return record


def decode_words(const uint32_t[::1] words, uint32_t gfx_level, uint32_t position=0):
    """Decode one instruction.

    Parameters
    ----------
    words
        Machine code.
    gfx_level
        A value of ``gfx*``, such as 90 or 103.
    position
        Index of the first dword.

    Returns
    -------
    dict
        The fields of ``Decoded``.
    """
    cdef Decoded d
    if position >= <uint32_t>words.shape[0]:
        raise IndexError("position is beyond the code")
    decode(&words[position], <uint32_t>(words.shape[0] - position), gfx_level, &d)
    return {
        "opcode": d.opcode, "format": d.format, "dwords": d.dwords,
        "sources": [d.source[i] for i in range(d.source_count)],
        "source_bytes": [d.source_bytes[i] for i in range(d.source_count)],
        "destinations": [d.destination[i] for i in range(d.destination_count)],
        "destination_bytes": [d.destination_bytes[i] for i in range(d.destination_count)],
        "literal": d.literal if d.has_literal else None, "immediate": d.immediate, "modifiers": d.modifiers,
    }


def encode_fields(fields, uint32_t gfx_level):
    """Encode a dict as ``decode_words`` returns it; the words, or a negative error code.

    Parameters
    ----------
    fields
        ``opcode``, ``format``, ``sources``, ``destinations``, ``literal``, ``immediate``, ``modifiers``.
    gfx_level
        A value of ``gfx*``.
    """
    cdef Decoded d
    cdef uint32_t words[encode_limit + 2]
    cdef int length
    d.opcode = fields["opcode"]
    d.format = fields["format"]
    d.source_count = len(fields["sources"])
    d.destination_count = len(fields["destinations"])
    for position, value in enumerate(fields["sources"]):
        d.source[position] = value
        d.source_bytes[position] = 0 if d.opcode < op_count and position < opcode_operand_count[d.opcode] \
            and operand_class(d.opcode, position) == opcode_mask_class else 4
    for position, value in enumerate(fields["destinations"]):
        d.destination[position] = value
    d.has_literal = fields["literal"] is not None
    d.literal = fields["literal"] or 0
    d.immediate = fields["immediate"]
    d.modifiers = fields["modifiers"]
    length = encode(&d, gfx_level, words)
    if length > 0 and not scalar_reads_fit(&d, gfx_level):
        length = encode_bad_bus
    return length if length < 0 else [words[position] for position in range(length)]


def encode_records(const unsigned char[::1] records, uint32_t gfx_level, offsets, Py_ssize_t size, uint32_t[::1] out):
    """Encode records as ``decode_records`` writes them; (number of words, index of the record at fault or -1, error code).

    `out` has room for ``encode_limit`` words a record.
    """
    cdef Py_ssize_t at[14]                      # of each field in a record
    cdef Py_ssize_t record, length = 0
    cdef Py_ssize_t count = records.shape[0] // size
    cdef const unsigned char *base
    cdef Decoded d
    cdef int result, i
    if out.shape[0] < encode_limit * count or len(offsets) != 14:
        raise ValueError("the words have no room")
    for i in range(14):
        at[i] = offsets[i]
    memset(&d, 0, sizeof(d))
    with nogil:
        for record in range(count):
            base = &records[record * size]
            d.opcode = (<const uint16_t *>(base + at[1]))[0]
            d.format = (<const uint16_t *>(base + at[2]))[0]
            d.source_count = base[at[4]]
            d.destination_count = base[at[5]]
            d.has_literal = base[at[6]]
            memcpy(d.source, base + at[7], sizeof(d.source))
            memcpy(d.source_bytes, base + at[8], sizeof(d.source_bytes))
            memcpy(d.destination, base + at[9], sizeof(d.destination))
            memcpy(d.destination_bytes, base + at[10], sizeof(d.destination_bytes))
            d.literal = (<const uint32_t *>(base + at[11]))[0]
            d.immediate = (<const uint32_t *>(base + at[12]))[0]
            d.modifiers = (<const uint64_t *>(base + at[13]))[0]
            if d.opcode == op_invalid:
                out[length] = d.literal
                length += 1
                continue
            if d.source_count > decoded_source_limit or d.destination_count > 3:
                result = encode_bad_operand
            else:
                result = encode(&d, gfx_level, &out[length])
                if result > 0 and not scalar_reads_fit(&d, gfx_level):
                    result = encode_bad_bus
            if result < 0:
                with gil:
                    return length, record, result
            length += result
    return length, -1, 0


def error_text(int code):
    """What a negative result of ``encode_fields`` means."""
    return encode_error(code).decode()
