"""NumPy models of the shaders whose results depend on the subgroup size, computed for the size that was compiled.

Also of private_arrays, which lavapipe of Mesa 22.3 gets wrong (its walk of the tree ends after one node).
Lanes of a subgroup are consecutive local invocations; every workgroup here is a whole number of subgroups.
Source: GL_KHR_shader_subgroup and the SPIR-V group instructions.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from case import BufferKey, Inputs

Results = Mapping[BufferKey, np.ndarray]


def inclusive(operation: np.ufunc, values: np.ndarray) -> np.ndarray:
    return operation.accumulate(values, axis=1, dtype=values.dtype)


def exclusive(operation: np.ufunc, values: np.ndarray, identity: float) -> np.ndarray:
    result = np.empty_like(values)
    result[:, 0] = identity
    result[:, 1:] = inclusive(operation, values)[:, :-1]
    return result


def reduce(operation: np.ufunc, values: np.ndarray, cluster: int | None = None) -> np.ndarray:
    """The reduction of each row (or of each cluster of neighbours), in every lane."""
    wave = values.shape[1]
    parts = values.reshape(values.shape[0], -1, min(cluster or wave, wave))
    totals = operation.reduce(parts, axis=2, keepdims=True, dtype=values.dtype)
    return np.broadcast_to(totals, parts.shape).reshape(values.shape)


def scan_subgroups(inputs: Inputs, wave: int) -> Results:
    values = inputs.buffers[0, 0].data
    totals = inputs.buffers[0, 1].data.copy()
    sums = values.reshape(-1, wave).sum(axis=1, dtype=np.uint32)
    totals[: len(sums)] = sums
    return {(0, 0): np.cumsum(values.reshape(-1, 256), axis=1, dtype=np.uint32).reshape(-1), (0, 1): totals}


def subgroup_reductions(inputs: Inputs, wave: int) -> Results:
    v = inputs.buffers[0, 0].data.reshape(-1, wave)
    s = v.view(np.int32)
    f = (v & 255).astype(np.float32) / 16 + np.float32(0.5)
    one = np.uint32(1)
    chosen = (v & 3) != 0
    some = np.where(chosen, v & 0xFFFF, 0).astype(np.uint32)
    columns = [
        reduce(np.add, v), reduce(np.multiply, v | one), reduce(np.minimum, v), reduce(np.maximum, s).view(np.uint32),
        reduce(np.bitwise_and, v | 0xFF00), reduce(np.bitwise_or, v & 0x0101), reduce(np.bitwise_xor, v),
        inclusive(np.add, v), inclusive(np.minimum, s).view(np.uint32), inclusive(np.bitwise_xor, v),
        exclusive(np.add, v, 0), exclusive(np.maximum, v, 0), exclusive(np.bitwise_and, v | 0xFF00, 0xFFFFFFFF),
        reduce(np.add, v, 4), reduce(np.maximum, v, 8), reduce(np.bitwise_xor, v, 16),
        exclusive(np.multiply, v | one, 1),
        np.where(chosen, reduce(np.add, some), 0), np.where(chosen, exclusive(np.add, chosen.astype(np.uint32), 0), 0),
        reduce(np.minimum, s >> 4).view(np.uint32) + inclusive(np.maximum, v & 0xFFFF),
    ]  # fmt: skip
    floats = [
        reduce(np.add, f), reduce(np.maximum, f), inclusive(np.add, f), exclusive(np.minimum, f, np.inf),
        reduce(np.add, f, 8), reduce(np.minimum, -f),
    ]  # fmt: skip
    return {
        (0, 1): np.stack(columns, axis=-1).astype(np.uint32).reshape(-1, 20),
        (0, 2): np.stack(floats, axis=-1).astype(np.float32).reshape(-1, 6),
    }


def subgroup_ballot_vote(inputs: Inputs, wave: int) -> Results:
    v = inputs.buffers[0, 0].data.reshape(-1, wave)
    lane = np.broadcast_to(np.arange(wave, dtype=np.uint32), v.shape)
    index = np.arange(v.size, dtype=np.uint32).reshape(v.shape)

    def ballot(flags: np.ndarray) -> np.ndarray:
        bits = np.zeros(v.shape[0], np.uint64)
        for i in range(wave):
            bits |= flags[:, i].astype(np.uint64) << np.uint64(i)
        return np.broadcast_to(bits[:, None], v.shape)

    def everywhere(column: np.ndarray) -> np.ndarray:
        return np.broadcast_to(column[:, None], v.shape)

    def mask(compare: np.ufunc) -> np.ndarray:
        """Bits of the lanes j of the subgroup with ``compare(j, lane)``."""
        bits = np.zeros(v.shape, np.uint64)
        for j in range(wave):
            bits |= compare(j, lane).astype(np.uint64) << np.uint64(j)
        return bits

    def low(bits: np.ndarray) -> np.ndarray:
        return (bits & np.uint64(0xFFFFFFFF)).astype(np.uint32)

    def high(bits: np.ndarray) -> np.ndarray:
        return (bits >> np.uint64(32)).astype(np.uint32)

    is_odd = (v & 1) != 0
    odd = ballot(is_odd)
    count = is_odd.astype(np.uint32)
    group = inputs.buffers[0, 0].data.reshape(-1, 128 // wave, wave)
    subgroup = np.broadcast_to(np.arange(128 // wave, dtype=np.uint32)[None, :, None], group.shape).reshape(v.shape)
    rare = (v & 6) == 0
    first_rare = rare.argmax(axis=1)
    keep = v > 0x30000000
    bit = (odd >> (v & 7).astype(np.uint64)) & np.uint64(1)
    votes = [
        (v < 0x70000000).all(axis=1), (v > 0x60000000).any(axis=1),
        ((v >> 31) == (v[:, :1] >> 31)).all(axis=1), (v == v[:, :1]).all(axis=1),
    ]  # fmt: skip
    columns = [
        low(odd), high(odd), reduce(np.add, count),
        exclusive(np.add, count, 0) | inclusive(np.add, count) << np.uint32(16),
        everywhere(is_odd.argmax(axis=1) | (wave - 1 - is_odd[:, ::-1].argmax(axis=1)) << 16),
        count | bit.astype(np.uint32) << np.uint32(1),
        everywhere(v[:, 3]), everywhere(v[:, 0]),
        everywhere(sum(vote.astype(np.uint32) << np.uint32(i) for i, vote in enumerate(votes))),
        low(mask(np.equal)) ^ low(mask(np.greater_equal)), low(mask(np.less)) ^ high(mask(np.less_equal)),
        low(mask(np.greater)),
        np.uint32(wave << 16) | lane << np.uint32(8) | subgroup << np.uint32(4) | np.uint32(128 // wave),
        np.where(rare, everywhere(index[np.arange(len(v)), first_rare]), 0),
        np.where(rare, low(ballot(rare)), 0), keep,
    ]  # fmt: skip
    kept = inputs.buffers[0, 3].data.copy()
    kept[: keep.sum()] = v[keep]
    return {
        (0, 1): np.stack([column.astype(np.uint32) for column in columns], axis=-1).reshape(-1, 16),
        (0, 2): np.array([keep.sum(), rare.any(axis=1).sum()], np.uint32),
        (0, 3): kept,
    }


def subgroup_shuffle(inputs: Inputs, wave: int) -> Results:
    v = inputs.buffers[0, 0].data.reshape(-1, wave)
    distance = int.from_bytes(inputs.push[:4], "little")
    lane = np.broadcast_to(np.arange(wave), v.shape)

    def pick(source: np.ndarray) -> np.ndarray:
        return np.take_along_axis(v, source % wave, axis=1)

    subgroup = (np.arange(v.shape[0]) % (64 // wave))[:, None]
    rows = v.reshape(-1, 16)
    columns = [
        pick((lane * 5 + v) % wave), pick(lane ^ 1), pick(lane ^ 16), pick(lane ^ distance),
        np.where(lane >= 3, pick(lane - 3), 0), np.where(lane + distance < wave, pick(lane + distance), 0),
        pick(lane // 4 * 4 + 2), pick(lane ^ 1), pick(lane ^ 2), pick(lane ^ 3),
        pick(np.broadcast_to(subgroup & 3, v.shape)),
        np.sort(rows, axis=1).reshape(v.shape),
    ]  # fmt: skip
    mirrored = wave - 1 - lane
    vectors = np.stack([pick(mirrored) & 1023, mirrored], axis=-1).astype(np.float32)
    return {(0, 1): np.stack(columns, axis=-1).astype(np.uint32).reshape(-1, 12), (0, 2): vectors.reshape(-1, 2)}


def private_arrays(inputs: Inputs, wave: int) -> Results:
    items = int.from_bytes(inputs.push[:4], "little")
    values = inputs.buffers[0, 0].data[:, :items]
    ordered = np.sort(values, axis=1)
    lane = np.arange(len(values))
    digest = np.zeros(len(values), np.uint32)
    for column in ordered.T:
        digest = digest * np.uint32(31) + column
    counts = (values[:, :, None] % 8 == np.arange(8)).sum(axis=1).astype(np.uint32)
    own = counts[lane, lane % 8] << np.uint32(16) | counts[lane, digest % 8]
    return {(0, 1): np.stack([digest, np.full_like(digest, items), own, ordered[lane, lane * 5 % items]], axis=1)}
