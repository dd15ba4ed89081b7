"""The NIR interpreter's subgroup operations: ballots, votes, shuffles, reductions, quads."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyaco._core.nir import build
from pyaco.nir import interpreter_alu, interpreter_opcodes
from pyaco.nir.interpreter_state import UINT, Array, InterpreterState
from pyaco.nir.small_floats import matrix_bits, matrix_elements, matrix_numbers

ALU_NAMES = {number: name for name, number in build.ALU.items()}


class Subgroups(InterpreterState):
    """What lanes of a subgroup do together."""

    def _waves(self, mask: Array) -> list[tuple[Array, Array]]:
        """Pairs per subgroup: all its lanes, and those that are active."""
        all_lanes = np.arange(self.padded).reshape(-1, self.wave)
        return [(lanes, lanes[mask[lanes]]) for lanes in all_lanes]

    def _ballot_words(self, i: int, per_lane: Array) -> Array:
        """An integer per lane, spread over the components of a result."""
        bits = self.bit_size[i]
        word = (1 << bits) - 1
        words = [[int(v) >> (bits * c) & word for v in per_lane] for c in range(self.components[i])]
        return np.array(words, dtype=object).astype(UINT[bits])

    def _do_ballot(self, i: int, mask: Array, value: Array) -> Array:
        out = np.zeros(self.padded, object)
        for lanes, active in self._waves(mask):
            out[lanes] = sum(1 << int(lane % self.wave) for lane in active if value[0, lane])
        return self._ballot_words(i, out)

    # Of inactive lanes it may say anything.
    _do_ballot_relaxed = _do_ballot

    def _mask_of(self, value: Array, lane: int) -> int:
        """The integer that a ballot's components hold in one lane."""
        bits = interpreter_alu.bits_of(value)
        return sum(int(value[c, lane]) << (bits * c) for c in range(len(value))) & ((1 << self.wave) - 1)

    def _per_lane(self, i: int, function: Any) -> Array:
        value = self._zero(i)
        value[0] = [function(lane) for lane in range(self.padded)]
        return value

    def _do_inverse_ballot(self, i: int, mask: Array, value: Array) -> Array:
        return self._per_lane(i, lambda n: bool(self._mask_of(value, n) >> int(self.lane[n]) & 1))

    def _do_ballot_bitfield_extract(self, i: int, mask: Array, value: Array, index: Array) -> Array:
        return self._per_lane(i, lambda n: bool(self._mask_of(value, n) >> int(index[0, n]) & 1))

    def _do_ballot_bit_count_reduce(self, i: int, mask: Array, value: Array) -> Array:
        return self._per_lane(i, lambda n: self._mask_of(value, n).bit_count())

    def _do_ballot_bit_count_inclusive(self, i: int, mask: Array, value: Array) -> Array:
        return self._per_lane(i, lambda n: (self._mask_of(value, n) & ((2 << int(self.lane[n])) - 1)).bit_count())

    def _do_ballot_bit_count_exclusive(self, i: int, mask: Array, value: Array) -> Array:
        return self._per_lane(i, lambda n: (self._mask_of(value, n) & ((1 << int(self.lane[n])) - 1)).bit_count())

    def _do_ballot_find_lsb(self, i: int, mask: Array, value: Array) -> Array:
        def lowest(n: int) -> int:
            m = self._mask_of(value, n)
            return ((m & -m).bit_length() - 1) & 0xFFFFFFFF

        return self._per_lane(i, lowest)

    def _do_ballot_find_msb(self, i: int, mask: Array, value: Array) -> Array:
        return self._per_lane(i, lambda n: (self._mask_of(value, n).bit_length() - 1) & 0xFFFFFFFF)

    def _broadcast(self, i: int, mask: Array, function: Any) -> Array:
        """`function(active lanes)` for every subgroup, the same in all its lanes."""
        out = self._zero(i)
        for lanes, active in self._waves(mask):
            if len(active):
                out[:, lanes] = np.asarray(function(active)).reshape(-1, 1)
        return out

    def _do_elect(self, i: int, mask: Array) -> Array:
        out = self._zero(i)
        for _, active in self._waves(mask):
            out[0, active[:1]] = True
        return out

    def _do_first_invocation(self, i: int, mask: Array) -> Array:
        return self._broadcast(i, mask, lambda active: active[0] % self.wave)

    def _do_last_invocation(self, i: int, mask: Array) -> Array:
        return self._broadcast(i, mask, lambda active: active[-1] % self.wave)

    def _do_vote_any(self, i: int, mask: Array, value: Array) -> Array:
        return self._broadcast(i, mask, lambda active: value[0, active].any())

    def _do_vote_all(self, i: int, mask: Array, value: Array) -> Array:
        return self._broadcast(i, mask, lambda active: value[0, active].all())

    def _quad_vote(self, mask: Array, value: Array, empty: bool) -> Array:
        """Whether any lane of the quad is not `empty`."""
        counted = np.where(mask, value[0] != empty, False).reshape(-1, 4)
        return np.asarray(np.repeat(counted.any(1) != empty, 4)[None])

    def _do_quad_vote_any(self, i: int, mask: Array, value: Array) -> Array:
        return self._quad_vote(mask, value, False)

    def _do_quad_vote_all(self, i: int, mask: Array, value: Array) -> Array:
        return self._quad_vote(mask, value, True)

    def _do_is_subgroup_invocation_lt_amd(self, i: int, mask: Array, count: Array) -> Array:
        return np.asarray(self.lane[None] < (count >> np.uint32(self._index(i, "base")) & np.uint32(0x7F)))

    def _do_vote_ieq(self, i: int, mask: Array, value: Array) -> Array:
        return self._broadcast(i, mask, lambda active: (value[:, active] == value[:, active[:1]]).all())

    def _do_vote_feq(self, i: int, mask: Array, value: Array) -> Array:
        number = interpreter_alu.floating(value)
        return self._broadcast(i, mask, lambda active: (number[:, active] == number[:, active[:1]]).all())

    def _do_read_first_invocation(self, i: int, mask: Array, value: Array) -> Array:
        return self._broadcast(i, mask, lambda active: value[:, active[0]])

    def _do_as_uniform(self, i: int, mask: Array, value: Array) -> Array:
        self._require_uniform(i, mask, value)
        return value.copy()

    def _do_read_invocation(self, i: int, mask: Array, value: Array, index: Array) -> Array:
        start = np.arange(self.padded) // self.wave * self.wave
        return value[:, start + index[0].astype(np.int64) % self.wave]

    def _do_shuffle(self, i: int, mask: Array, value: Array, index: Array) -> Array:
        return self._do_read_invocation(i, mask, value, index)

    def _moved(self, value: Array, lane: Array) -> Array:
        start = np.arange(self.padded) // self.wave * self.wave
        return value[:, start + lane.astype(np.int64) % self.wave]

    def _do_shuffle_xor(self, i: int, mask: Array, value: Array, index: Array) -> Array:
        return self._moved(value, self.lane ^ index[0].astype(np.uint32))

    def _do_shuffle_up(self, i: int, mask: Array, value: Array, index: Array) -> Array:
        return self._moved(value, self.lane - index[0].astype(np.uint32))

    def _do_shuffle_down(self, i: int, mask: Array, value: Array, index: Array) -> Array:
        return self._moved(value, self.lane + index[0].astype(np.uint32))

    def _do_rotate(self, i: int, mask: Array, value: Array, index: Array) -> Array:
        cluster = self._index(i, "cluster_size") or self.wave
        within = (self.lane + index[0].astype(np.uint32)) % np.uint32(cluster)
        return self._moved(value, self.lane // np.uint32(cluster) * np.uint32(cluster) + within)

    def _do_write_invocation_amd(self, i: int, mask: Array, value: Array, other: Array, index: Array) -> Array:
        return np.where(self.lane == index[0], other, value)

    def _reduced(self, i: int, value: Array, lanes: Array) -> Array:
        name = ALU_NAMES[self._index(i, "reduction_op")]
        total = value[:, lanes[0] : lanes[0] + 1]
        for lane in lanes[1:]:
            total = interpreter_opcodes.evaluate(name, [total, value[:, lane : lane + 1]])
        return total

    def _do_reduce(self, i: int, mask: Array, value: Array) -> Array:
        out = self._zero(i)
        cluster = self._index(i, "cluster_size") or self.wave
        for lanes in np.arange(self.padded).reshape(-1, min(cluster, self.wave)):
            active = lanes[mask[lanes]]
            if len(active):
                out[:, lanes] = self._reduced(i, value, active)
        return out

    def _scan(self, i: int, mask: Array, value: Array, inclusive: bool) -> Array:
        out = self._zero(i)
        for _, active in self._waves(mask):
            for position, lane in enumerate(active):
                before = active[: position + inclusive]
                if len(before):
                    out[:, lane : lane + 1] = self._reduced(i, value, before)
                else:
                    out[:, lane] = self._identity(i)
        return out

    def _identity(self, i: int) -> int:
        name, bits = ALU_NAMES[self._index(i, "reduction_op")], self.bit_size[i]
        ones = (1 << bits) - 1
        if name in ("fmul", "fmin", "fmax"):
            number = {"fmul": 1.0, "fmin": np.inf, "fmax": -np.inf}[name]
            return int(np.array([number], interpreter_alu.FLOAT[bits]).view(UINT[bits])[0])
        return {"imul": 1, "imin": ones >> 1, "umin": ones, "imax": 1 << (bits - 1), "iand": ones}.get(name, 0)

    def _do_inclusive_scan(self, i: int, mask: Array, value: Array) -> Array:
        return self._scan(i, mask, value, True)

    def _do_exclusive_scan(self, i: int, mask: Array, value: Array) -> Array:
        return self._scan(i, mask, value, False)

    def _derivative(self, name: str, value: Array) -> Array:
        """The difference between lanes of a quad: of the lane's own row or column, coarse ones of the first."""
        bit = np.uint32(1 if name.startswith("fddx") else 2)
        first = self.lane & ~bit if name.endswith("fine") else self.lane & ~np.uint32(3)
        near, far = (interpreter_alu.floating(self._moved(value, lane)) for lane in (first, first | bit))
        return np.asarray(far - near).view(value.dtype)

    def _do_quad_broadcast(self, i: int, mask: Array, value: Array, index: Array) -> Array:
        return self._moved(value, (self.lane & ~np.uint32(3)) + index[0].astype(np.uint32))

    def _do_quad_swap_horizontal(self, i: int, mask: Array, value: Array) -> Array:
        return self._moved(value, self.lane ^ np.uint32(1))

    def _do_quad_swap_vertical(self, i: int, mask: Array, value: Array) -> Array:
        return self._moved(value, self.lane ^ np.uint32(2))

    def _do_quad_swap_diagonal(self, i: int, mask: Array, value: Array) -> Array:
        return self._moved(value, self.lane ^ np.uint32(3))

    def _do_quad_swizzle_amd(self, i: int, mask: Array, value: Array) -> Array:
        pattern = self._index(i, "swizzle_mask")
        picked = np.array([pattern >> (2 * k) & 3 for k in range(4)], np.uint32)
        return self._moved(value, (self.lane & ~np.uint32(3)) + picked[self.lane & np.uint32(3)])

    def _do_masked_swizzle_amd(self, i: int, mask: Array, value: Array) -> Array:
        pattern = self._index(i, "swizzle_mask")
        and_mask, or_mask, xor_mask = (np.uint32(pattern >> (5 * k) & 31) for k in range(3))
        within = ((self.lane & np.uint32(31) & and_mask) | or_mask) ^ xor_mask
        return self._moved(value, (self.lane & ~np.uint32(31)) + within)

    def _do_lane_permute_16_amd(self, i: int, mask: Array, value: Array, low: Array, high: Array) -> Array:
        """Within 16 lanes: from the lane that four bits of two words name."""
        words = low[0].astype(np.uint64) | high[0].astype(np.uint64) << np.uint64(32)
        within = words >> (4 * (self.lane.astype(np.uint64) & np.uint64(15))) & np.uint64(15)
        return self._moved(value, (self.lane & ~np.uint32(15)) + within.astype(np.uint32))

    def _do_cmat_muladd_pyaco(self, i: int, mask: Array, a: Array, b: Array, c: Array) -> Array:
        """A * B + C of tiles of 16 by 16, which the lanes of each 32 hold as ``ir/cooperative_matrix.pxd`` says."""
        types, operands = self._index(i, "cmat_types"), self._index(i, "cmat_operands")
        numbers = [matrix_numbers(value, types >> 4 * k & 15, bool(operands >> k & 1)) for k, value in enumerate((a, b, c))]
        return self._tiles(numbers, types, operands).astype(c.dtype)

    def _tiles(self, numbers: list[Array], types: int, operands: int) -> Array:
        """The bits of A * B + C of the tiles in each 32 lanes."""
        out = []
        for start in range(0, self.padded, 32):
            left, right, added = (value[:, start : start + 32].reshape(8, 2, 16).transpose(1, 0, 2).reshape(16, 16) for value in numbers)
            bits = matrix_bits(left.T @ right + added, types >> 8 & 15, bool(operands & 8), bool(operands & 16))
            out.append(bits.reshape(2, 8, 16).transpose(1, 0, 2).reshape(8, 32))
        return np.concatenate(out, axis=1)

    def _do_cmat_muladd_amd(self, i: int, mask: Array, a: Array, b: Array, c: Array) -> Array:
        """WMMA in waves of 32 lanes: registers as the chip's instruction has them (``lower_cooperative_matrix``)."""
        types, operands = self._index(i, "cmat_types"), self._index(i, "cmat_operands")
        spread = self.shader.info["gfx_level"] >= 120
        elements = [matrix_elements(value, types >> 4 * k & 15) for k, value in enumerate((a, b, c))]
        lanes = np.arange(self.padded)
        half, row = lanes >> 4 & 1, lanes & 15
        if not spread:
            # a row or column is in both halves; the result's rows are dealt out to them in turn
            halves = [np.where(half == 0, value[:8], value[8:16]) for value in elements[:2]]
            order = lanes - row + 2 * (row & 7) + (row >> 3)
            elements = [halves[0][:, order], halves[1], elements[2][: 16 : len(elements[2]) // 8]]
        numbers = [matrix_numbers(value, types >> 4 * k & 15, bool(operands >> k & 1)) for k, value in enumerate(elements)]
        bits = self._tiles(numbers, types, operands)
        if bits.dtype == np.uint32:
            return bits
        return bits[0::2].astype(np.uint32) | bits[1::2].astype(np.uint32) << 16 if spread else bits.astype(np.uint32)

    def _do_mbcnt_amd(self, i: int, mask: Array, value: Array, add: Array) -> Array:
        below = self._per_lane(i, lambda n: (self._mask_of(value, n) & ((1 << int(self.lane[n])) - 1)).bit_count())
        return below + add
