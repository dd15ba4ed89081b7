"""The NIR interpreter's intrinsics of inputs: arguments of the ABI and system values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyaco._core.ir.vocabulary import ArgumentKind, DerivativeGroup
from pyaco.errors import UnsupportedError
from pyaco.nir.interpreter_state import INTRINSIC_NAMES, PUSH_ADDRESS, TABLE_ADDRESS, UINT, Array, InterpreterState

TABLE_OF_SETS = 0x7FFFFFFF                     # detail of the argument that points to a table of sets


class Inputs(InterpreterState):
    """What a lane starts with."""

    def _do_load_scalar_arg_amd(self, i: int, mask: Array) -> Array:
        row = self._index(i, "base")
        kind = int(self.shader.arguments.kind[row])
        detail = int(self.shader.arguments.detail[row])
        value = self._zero(i)
        if kind == ArgumentKind.DESCRIPTOR_SET:
            value[0] = TABLE_ADDRESS if detail == TABLE_OF_SETS else self.set_addresses[detail]
        elif kind == ArgumentKind.PUSH_CONSTANTS:
            value[0] = PUSH_ADDRESS
        elif kind == ArgumentKind.INLINE_PUSH_CONSTANT:
            value[0] = self.push[4 * detail : 4 * detail + 4].view(np.uint32)[0]
        elif kind == ArgumentKind.NUM_WORKGROUPS:
            value[:] = np.array(self.groups, np.uint32)[:, None]
        elif kind == ArgumentKind.WORKGROUP_ID:
            packed = self.shader.info["gfx_level"] >= 120 and detail > 0
            value[0] = self.group[1] | self.group[2] << 16 if packed else self.group[detail]
        else:
            raise UnsupportedError(f"the NIR interpreter has no argument {ArgumentKind.names().get(kind, kind)}")
        return value

    def _do_load_vector_arg_amd(self, i: int, mask: Array) -> Array:
        row = self._index(i, "base")
        if int(self.shader.arguments.detail[row]) & 1:
            x, y, z = self.hardware_id
            return np.asarray((x | y << np.uint32(10) | z << np.uint32(20))[None])
        return self.hardware_id[: self.components[i]].copy()

    def _dealt_out_ids(self) -> Array:
        """Local ids of the lanes: as the hardware has them or, where quads are the groups for derivatives, two by two."""
        if self.shader.info["derivative_group"] != DerivativeGroup.QUADS:
            return self.hardware_id
        x, y, z = self.hardware_id.astype(np.int64)
        number = x + y % 2 * self.size[0]
        return np.stack([number // 4 * 2 + number % 2, y // 2 * 2 + number // 2 % 2, z]).astype(np.uint32)

    def _in_all_lanes(self, values: Sequence[int]) -> Array:
        return np.repeat(np.array(values, np.uint32)[:, None], self.padded, 1)

    def _do_load_workgroup_id(self, i: int, mask: Any) -> Array:
        return self._in_all_lanes(self.group)

    def _do_load_base_workgroup_id(self, i: int, mask: Any) -> Array:
        return self._in_all_lanes((0, 0, 0))

    def _do_load_num_workgroups(self, i: int, mask: Any) -> Array:
        return self._in_all_lanes(self.groups)

    def _do_load_workgroup_size(self, i: int, mask: Any) -> Array:
        return self._in_all_lanes(self.size)

    def _do_load_local_invocation_id(self, i: int, mask: Any) -> Array:
        return self.local_id.copy()

    def _do_load_local_invocation_index(self, i: int, mask: Any) -> Array:
        return self.index[None].copy()

    def _do_load_global_invocation_id(self, i: int, mask: Any) -> Array:
        return self._in_all_lanes(self.group) * self._in_all_lanes(self.size) + self.local_id

    def _do_load_subgroup_id(self, i: int, mask: Any) -> Array:
        return (np.arange(self.padded, dtype=np.uint32) // np.uint32(self.wave))[None]

    def _do_load_num_subgroups(self, i: int, mask: Any) -> Array:
        return self._in_all_lanes([self.padded // self.wave])

    def _do_load_subgroup_size(self, i: int, mask: Any) -> Array:
        return self._in_all_lanes([self.wave])

    def _do_load_subgroup_invocation(self, i: int, mask: Any) -> Array:
        return self.lane[None].copy()

    def _lane_mask(self, name: str, components: int, bits: int) -> Array:
        kind = name.split("_")[2]
        full = (1 << self.wave) - 1
        masks = []
        for lane in self.lane.tolist():
            one = 1 << lane
            masks.append({"eq": one, "lt": one - 1, "le": one * 2 - 1, "gt": full & ~(one * 2 - 1),
                          "ge": full & ~(one - 1)}[kind])
        word = (1 << bits) - 1
        return np.array([[m >> (bits * i) & word for m in masks] for i in range(components)], UINT[bits])

    def _do_mask(self, i: int, mask: Any) -> Array:
        return self._lane_mask(INTRINSIC_NAMES[self.opcode[i]], self.components[i], self.bit_size[i])

    _do_load_subgroup_eq_mask = _do_load_subgroup_ge_mask = _do_load_subgroup_gt_mask = _do_mask
    _do_load_subgroup_le_mask = _do_load_subgroup_lt_mask = _do_mask
