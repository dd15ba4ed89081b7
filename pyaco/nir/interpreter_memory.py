"""The NIR interpreter's memory: pointers and derefs, loads, stores and atomics of every mode.

Pointers are an offset (scratch, shared memory, push constants), three words (buffers: set and binding, element, offset) or a 64-bit address.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyaco._core.ir.vocabulary import AtomicOperation, BaseType, Deref, NirKind, VariableMode
from pyaco._core.nir import types as nir_types
from pyaco.errors import InputError, UnsupportedError
from pyaco.nir import interpreter_alu, interpreter_opcodes
from pyaco.nir.interpreter_inputs import Inputs
from pyaco.nir.interpreter_state import BUFFER, LOCAL, UINT, Array

ATOMICS = AtomicOperation.names()
# Intrinsics that load a BuiltIn of SPIR-V.
SYSTEM_VALUES = {
    24: "load_num_workgroups", 25: "load_workgroup_size", 26: "load_workgroup_id", 27: "load_local_invocation_id",
    28: "load_global_invocation_id", 29: "load_local_invocation_index", 36: "load_subgroup_size",
    38: "load_num_subgroups", 40: "load_subgroup_id", 41: "load_subgroup_invocation",
    4416: "load_subgroup_eq_mask", 4417: "load_subgroup_ge_mask", 4418: "load_subgroup_gt_mask",
    4419: "load_subgroup_le_mask", 4420: "load_subgroup_lt_mask",
}


class Memory(Inputs):
    """Everything that reads or writes memory."""

    # --------------------------------------------------------------------------------------------------------- pointers
    def _deref(self, instruction: int) -> Array:
        """Pointers: an offset, three words for buffers, a 64-bit address; columns of row-major matrices keep a stride."""
        opcode = self.opcode[instruction]
        sources = self._sources(instruction)
        if opcode == Deref.VAR:
            return self._variable(instruction)
        parent = self.values[sources[0]]
        if opcode == Deref.CAST:
            return parent
        parent_type = self.type[sources[0]]
        if opcode == Deref.STRUCT:
            return self._advance(instruction, parent,
                                 nir_types.offset_of_member(self.shader, parent_type, self.data[instruction]))
        index = interpreter_alu.signed(self.values[sources[1]][0]).astype(np.int64)
        stride = self._pointer_stride(sources[0]) if opcode == Deref.PTR_AS_ARRAY else self._element_stride(sources[0])
        return self._advance(instruction, parent, index * stride)

    def _variable(self, instruction: int) -> Array:
        row = self.data[instruction]
        mode = self.mode[instruction]
        value = self._zero(instruction)
        if mode & (LOCAL | VariableMode.SHARED):
            value[0] = self.locations[row]
        elif mode & BUFFER:
            raise UnsupportedError("a deref of a buffer variable without a descriptor")
        elif mode == VariableMode.SYSTEM_VALUE:
            value[0] = row
        return value

    def _advance(self, instruction: int, pointer: Array, step: Any) -> Array:
        """Add bytes to the offset that a pointer ends with."""
        out = pointer.copy()
        steps = np.asarray(np.broadcast_to(step, out[-1].shape), np.int64)
        out[-1] = (out[-1].astype(np.int64) + steps).astype(np.uint64).astype(out.dtype)
        return out

    def _component_stride(self, deref: int) -> int:
        """Bytes between the components of the vector that a deref points to."""
        if self.kind[deref] == NirKind.DEREF and self.opcode[deref] == Deref.ARRAY:
            parent = self._sources(deref)[0]
            type = self.type[parent]
            if self.types["base"][type] == BaseType.MATRIX and self.types["row_major"][type]:
                return nir_types.stride_of(self.shader, type)
        bits = self.types["bit_size"][self.type[deref]]
        if self.types["base"][self.type[deref]] == BaseType.POINTER:
            return 8
        return 4 if bits == 1 else bits // 8

    def _element_stride(self, parent: int) -> int:
        type = self.type[parent]
        if self.mode[parent] == VariableMode.SYSTEM_VALUE:
            return 0x10000
        if self.types["base"][type] == BaseType.MATRIX and self.types["row_major"][type]:
            bits = self.types["bit_size"][self.types["element"][type]]
            return 4 if bits == 1 else bits // 8
        if self.types["base"][type] in (BaseType.ARRAY, BaseType.MATRIX):
            return nir_types.stride_of(self.shader, type)
        return self._component_stride(parent)

    def _pointer_stride(self, deref: int) -> int:
        if self.opcode[deref] == Deref.CAST and self.data[deref]:
            return self.data[deref]
        if self.opcode[deref] == Deref.PTR_AS_ARRAY:
            return self._pointer_stride(self._sources(deref)[0])
        if self.opcode[deref] == Deref.ARRAY:
            return self._element_stride(self._sources(deref)[0])
        return nir_types.layout(self.shader, self.type[deref])[0]

    def _load_through(self, deref: int, pointer: Array, components: int, bits: int, mask: Array) -> Array:
        mode = self.mode[deref]
        if mode == VariableMode.SYSTEM_VALUE:
            return self._system_value(pointer, components)
        stored = 32 if bits == 1 else bits
        stride = self._component_stride(deref)
        loaded = [self._load_mode(mode, self._shifted(pointer, i * stride), 1, stored, mask)[0]
                  for i in range(components)]
        value = np.stack(loaded)
        return value != 0 if bits == 1 else value

    def _shifted(self, pointer: Array, step: int) -> Array:
        out = pointer.copy()
        out[-1] = out[-1] + out.dtype.type(step)
        return out

    def _system_value(self, pointer: Array, components: int) -> Array:
        row = int(pointer[0][0]) & 0xFFFF
        name = SYSTEM_VALUES.get(self.variables["builtin"][row])
        if name is None:
            raise UnsupportedError(f"BuiltIn {self.variables['builtin'][row]}")
        value: Array = self._lane_mask(name, 4, 32) if name.endswith("_mask") else getattr(self, f"_do_{name}")(0, None)
        if components == 1 and len(value) > 1:
            part = (pointer[0] >> np.uint32(16)).astype(np.int64)
            return np.asarray(value[part, np.arange(self.padded)][None])
        return value

    def _load_mode(self, mode: int, pointer: Array, components: int, bits: int, mask: Array) -> Array:
        if mode & LOCAL:
            return self._read_local(self.local, pointer[0].astype(np.int64), components, bits, mask)
        if mode & VariableMode.SHARED:
            return self._read(self.shared, pointer[0].astype(np.int64), components, bits, mask)
        if mode & VariableMode.PUSH_CONSTANT:
            return self._read(self.push, pointer[0].astype(np.int64), components, bits, mask)
        if mode & BUFFER:
            return self._load_buffer(pointer, pointer[2], components, bits, mask)
        if mode & VariableMode.GLOBAL:
            return self._load_address(pointer[0], components, bits, mask)
        raise UnsupportedError(f"the NIR interpreter has no loads of mode {mode:#x}")

    # ----------------------------------------------------------------------------------------------------------- memory
    def _read(self, memory: Array, offset: Array, components: int, bits: int, mask: Array) -> Array:
        size = components * bits // 8
        out = np.zeros((self.padded, size), np.uint8)
        lanes = np.flatnonzero(mask)
        if len(lanes) and ((offset[lanes] < 0).any() or (offset[lanes] + size > len(memory)).any()):
            raise InputError(f"an access past the end of {len(memory)} bytes")
        out[lanes] = memory[offset[lanes][:, None] + np.arange(size)]
        return out.view(UINT[bits]).T.copy()

    def _read_local(self, memory: Array, offset: Array, components: int, bits: int, mask: Array) -> Array:
        size = components * bits // 8
        out = np.zeros((self.padded, size), np.uint8)
        lanes = np.flatnonzero(mask)
        if len(lanes) and (offset[lanes] + size > memory.shape[1]).any():
            raise InputError("an access past the end of scratch")
        out[lanes] = memory[lanes[:, None], offset[lanes][:, None] + np.arange(size)]
        return out.view(UINT[bits]).T.copy()

    def _buffer_of(self, base: Array, lane: int) -> tuple[Array, int]:
        """The bytes that a descriptor or a buffer pointer names in one lane, and its address."""
        if len(base) == 4:
            address = int(base[0][lane]) | (int(base[1][lane]) & 0xFFFF) << 32
            size = int(base[2][lane])
            if size == 0:
                return np.zeros(0, np.uint8), 0
            region, start = self.memory.find(address, size)
            return region[start : start + size], address
        number = int(base[0][lane])
        entries = self.buffers.get((number >> 16, number & 0xFFFF))
        element = int(base[1][lane])
        if entries is None or element >= len(entries):
            raise InputError(f"no buffer is bound to set {number >> 16}, binding {number & 0xFFFF}, element {element}")
        return entries[element][1], entries[element][0]

    def _lanes_by_buffer(self, base: Array, mask: Array) -> list[tuple[Array, Array]]:
        """Pairs of a buffer and the lanes that name it, in their order."""
        lanes = np.flatnonzero(mask)
        names = base[: 3 if len(base) == 4 else 2, lanes]
        pairs = []
        while len(lanes):
            same = (names == names[:, :1]).all(0)
            pairs.append((self._buffer_of(base, int(lanes[0]))[0], lanes[same]))
            names, lanes = names[:, ~same], lanes[~same]
        return pairs

    def _load_buffer(self, base: Array, offset: Array, components: int, bits: int, mask: Array) -> Array:
        size = bits // 8
        out = np.zeros((components, self.padded), UINT[bits])
        for data, lanes in self._lanes_by_buffer(base, mask):
            for i in range(components):
                at = offset[lanes].astype(np.int64) + i * size
                inside = at + size <= len(data)
                loaded = data[at[inside][:, None] + np.arange(size)]
                out[i, lanes[inside]] = loaded.view(UINT[bits])[:, 0] if len(loaded) else 0
        return out

    def _store_buffer(self, value: Array, base: Array, offset: Array, write_mask: int, mask: Array) -> None:
        size = value.dtype.itemsize
        for data, lanes in self._lanes_by_buffer(base, mask):
            for i in range(len(value)):
                if not write_mask >> i & 1:
                    continue
                at = offset[lanes].astype(np.int64) + i * size
                inside = at + size <= len(data)
                self._scatter(data, at[inside], value[i, lanes[inside]])

    @staticmethod
    def _scatter(memory: Array, at: Array, values: Array) -> None:
        """Store values one after another: of those that overlap, the last remains."""
        size = values.dtype.itemsize
        parts = values.copy().view(np.uint8).reshape(len(values), size)
        if not (at % size).any():                           # what overlaps is at the same place; NumPy keeps the last
            memory[at[:, None] + np.arange(size)] = parts
            return
        for place, part in zip(at, parts, strict=True):
            memory[place : place + size] = part

    def _load_address(self, address: Array, components: int, bits: int, mask: Array) -> Array:
        out = np.zeros((components, self.padded), UINT[bits])
        size = components * bits // 8
        for lane in np.flatnonzero(mask):
            region, at = self.memory.find(int(address[lane]), size)
            out[:, lane] = region[at : at + size].copy().view(UINT[bits])
        return out

    def _store_address(self, value: Array, address: Array, write_mask: int, mask: Array) -> None:
        size = value.dtype.itemsize
        for lane in np.flatnonzero(mask):
            for i in range(len(value)):
                if write_mask >> i & 1:
                    region, at = self.memory.find(int(address[lane]) + i * size, size)
                    region[at : at + size] = value[i, lane : lane + 1].view(np.uint8)

    def _store_shared(self, value: Array, offset: Array, write_mask: int, mask: Array) -> None:
        size = value.dtype.itemsize
        lanes = np.flatnonzero(mask)
        for i in range(len(value)):
            if write_mask >> i & 1:
                at = offset[lanes].astype(np.int64) + i * size
                if len(at) and (at + size > len(self.shared)).any():
                    raise InputError("a store past the end of shared memory")
                self._scatter(self.shared, at, value[i, lanes])

    def _store_local(self, value: Array, offset: Array, write_mask: int, mask: Array) -> None:
        size = value.dtype.itemsize
        lanes = np.flatnonzero(mask)
        for i in range(len(value)):
            if write_mask >> i & 1:
                at = offset[lanes].astype(np.int64) + i * size
                if len(at) and (at + size > self.local_bytes).any():
                    raise InputError("a store past the end of scratch")
                stored = value[i, lanes].copy().view(np.uint8).reshape(len(lanes), size)
                self.local[lanes[:, None], at[:, None] + np.arange(size)] = stored

    def _store_through(self, deref: int, pointer: Array, value: Array, write_mask: int, mask: Array) -> None:
        mode = self.mode[deref]
        if value.dtype == np.bool_:
            value = value.astype(np.uint32)
        stride = self._component_stride(deref)
        for i in range(len(value)):
            if not write_mask >> i & 1:
                continue
            part, at = value[i : i + 1], self._shifted(pointer, i * stride)
            if mode & LOCAL:
                self._store_local(part, at[0], 1, mask)
            elif mode & VariableMode.SHARED:
                self._store_shared(part, at[0], 1, mask)
            elif mode & BUFFER:
                self._store_buffer(part, at, at[2], 1, mask)
            elif mode & VariableMode.GLOBAL:
                self._store_address(part, at[0], 1, mask)
            else:
                raise UnsupportedError(f"the NIR interpreter has no stores of mode {mode:#x}")

    def _atomic(self, name: int, memory: Array, at: int, bits: int, operand: Any, second: Any = None) -> int:
        """One atomic; returns the old bits."""
        size = bits // 8
        if at < 0 or at + size > len(memory):
            return 0
        old = memory[at : at + size].copy().view(UINT[bits])
        new = np.array([operand], UINT[bits])
        operation = ATOMICS[name]
        if operation == "cmpxchg":
            result = np.array([second], UINT[bits]) if int(old[0]) == int(operand) else old
        elif operation == "xchg":
            result = new
        else:
            result = interpreter_opcodes.evaluate(operation, [old[None], new[None]])[0]
        memory[at : at + size] = np.ascontiguousarray(result).view(np.uint8)
        return int(old[0])

    # ------------------------------------------------------------------------------------------ intrinsics: derefs
    def _do_load_deref(self, i: int, mask: Array, pointer: Array) -> Array:
        return self._load_through(self._sources(i)[0], pointer, self.components[i], self.bit_size[i], mask)

    def _do_store_deref(self, i: int, mask: Array, pointer: Array, value: Array) -> None:
        self._store_through(self._sources(i)[0], pointer, value, self._index(i, "write_mask"), mask)

    def _do_copy_deref(self, i: int, mask: Array, target: Array, origin: Array) -> None:
        sources = self._sources(i)
        self._copy(sources[0], target, sources[1], origin, self.type[sources[0]], self.type[sources[1]], mask)

    def _copy(self, target: int, to: Array, origin: int, at: Array, to_type: int, at_type: int, mask: Array) -> None:
        base = self.types["base"][at_type]
        if base == BaseType.STRUCT:
            members = [(int(self.shader.members.type[int(self.shader.types.member_first[t]) + m]))
                       for t in (to_type, at_type) for m in range(int(self.shader.types.member_count[t]))]
            half = len(members) // 2
            for m in range(half):
                self._copy(target, self._shifted(to, nir_types.offset_of_member(self.shader, to_type, m)), origin,
                           self._shifted(at, nir_types.offset_of_member(self.shader, at_type, m)), members[m],
                           members[half + m], mask)
            return
        if base == BaseType.ARRAY:
            for n in range(self.types["length"][at_type]):
                self._copy(target, self._shifted(to, n * nir_types.stride_of(self.shader, to_type)), origin,
                           self._shifted(at, n * nir_types.stride_of(self.shader, at_type)),
                           self.types["element"][to_type], self.types["element"][at_type], mask)
            return
        columns = self.types["length"][at_type] if base == BaseType.MATRIX else 1
        vector = self.types["element"][at_type] if base == BaseType.MATRIX else at_type
        bits = self.types["bit_size"][vector]
        stored = 32 if bits == 1 else bits
        for column in range(columns):
            for component in range(max(1, self.types["components"][vector])):
                value = self._load_mode(self.mode[origin], self._shifted(
                    at, self._component_offset(at_type, column, component)), 1, stored, mask)
                where = self._shifted(to, self._component_offset(to_type, column, component))
                self._store_mode(self.mode[target], where, value, mask)

    def _component_offset(self, type: int, column: int, component: int) -> int:
        if self.types["base"][type] != BaseType.MATRIX:
            bits = self.types["bit_size"][type]
            return component * (4 if bits == 1 else bits // 8)
        size = self.types["bit_size"][self.types["element"][type]] // 8
        stride = nir_types.stride_of(self.shader, type)
        if self.types["row_major"][type]:
            return int(component * stride + column * size)
        return int(column * stride + component * size)

    def _store_mode(self, mode: int, pointer: Array, value: Array, mask: Array) -> None:
        if mode & LOCAL:
            self._store_local(value, pointer[0], 1, mask)
        elif mode & VariableMode.SHARED:
            self._store_shared(value, pointer[0], 1, mask)
        elif mode & BUFFER:
            self._store_buffer(value, pointer, pointer[2], 1, mask)
        else:
            self._store_address(value, pointer[0], 1, mask)

    def _do_deref_atomic(self, i: int, mask: Array, pointer: Array, value: Array, second: Array | None = None) -> Array:
        mode = self.mode[self._sources(i)[0]]
        if mode & VariableMode.SHARED:
            return self._shared_atomic(i, mask, pointer[0], value, second)
        if mode & BUFFER:
            return self._buffer_atomic(i, mask, pointer, pointer[2], value, second)
        return self._global_atomic(i, mask, pointer[0], value, second)

    _do_deref_atomic_swap = _do_deref_atomic

    def _shared_atomic(self, i: int, mask: Array, at: Array, value: Array, second: Array | None) -> Array:
        out, operation = self._zero(i), self._index(i, "atomic_op")
        for lane in np.flatnonzero(mask):
            out[0, lane] = self._atomic(operation, self.shared, int(at[lane]), self.bit_size[i], value[0, lane],
                                        None if second is None else second[0, lane])
        return out

    def _buffer_atomic(self, i: int, mask: Array, base: Array, offset: Array, value: Array,
                       second: Array | None) -> Array:
        out, operation = self._zero(i), self._index(i, "atomic_op")
        for lane in np.flatnonzero(mask):
            data, _ = self._buffer_of(base, int(lane))
            out[0, lane] = self._atomic(operation, data, int(offset[lane]), self.bit_size[i], value[0, lane],
                                        None if second is None else second[0, lane])
        return out

    def _global_atomic(self, i: int, mask: Array, address: Array, value: Array, second: Array | None) -> Array:
        out, operation = self._zero(i), self._index(i, "atomic_op")
        for lane in np.flatnonzero(mask):
            region, at = self.memory.find(int(address[lane]), self.bit_size[i] // 8)
            out[0, lane] = self._atomic(operation, region, at, self.bit_size[i], value[0, lane],
                                        None if second is None else second[0, lane])
        return out

    def _do_deref_buffer_array_length(self, i: int, mask: Array, pointer: Array) -> Array:
        deref = self._sources(i)[0]
        type, offset = self.type[deref], pointer[2].astype(np.int64)
        if self.types["base"][type] == BaseType.STRUCT:
            last = int(self.shader.types.member_count[type]) - 1
            offset = offset + nir_types.offset_of_member(self.shader, type, last)
            type = int(self.shader.members.type[int(self.shader.types.member_first[type]) + last])
        size = self._do_get_ssbo_size(i, mask, pointer)[0].astype(np.int64)
        count = np.maximum(size - offset, 0) // nir_types.stride_of(self.shader, type)
        return np.asarray(count.astype(np.uint32)[None])

    # ------------------------------------------------------------------------------------------ intrinsics: memory
    def _do_vulkan_resource_index(self, i: int, mask: Array, index: Array) -> Array:
        value = self._zero(i)
        value[0] = self._index(i, "desc_set") << 16 | self._index(i, "binding")
        value[1] = index[0]
        return value

    def _do_vulkan_resource_reindex(self, i: int, mask: Array, base: Array, index: Array) -> Array:
        value = base.copy()
        value[1] += index[0].astype(np.uint32)
        return value

    def _do_load_vulkan_descriptor(self, i: int, mask: Array, base: Array) -> Array:
        value = base.copy()
        value[2] = 0
        return value

    def _do_get_ssbo_size(self, i: int, mask: Array, base: Array) -> Array:
        value = np.zeros((1, self.padded), np.uint32)
        for data, lanes in self._lanes_by_buffer(base, mask):
            value[0, lanes] = len(data)
        return value

    def _do_load_ubo(self, i: int, mask: Array, base: Array, offset: Array) -> Array:
        return self._load_buffer(base, offset[0], self.components[i], self.bit_size[i], mask)

    _do_load_ssbo = _do_load_ubo

    def _do_store_ssbo(self, i: int, mask: Array, value: Array, base: Array, offset: Array) -> None:
        self._store_buffer(value, base, offset[0], self._index(i, "write_mask"), mask)

    def _do_ssbo_atomic(self, i: int, mask: Array, base: Array, offset: Array, value: Array,
                        second: Array | None = None) -> Array:
        return self._buffer_atomic(i, mask, base, offset[0], value, second)

    _do_ssbo_atomic_swap = _do_ssbo_atomic

    def _with_base(self, i: int, offset: Array) -> Array:
        return np.asarray(offset[0].astype(np.int64) + self._index(i, "base"))

    def _do_load_push_constant(self, i: int, mask: Array, offset: Array) -> Array:
        return self._read(self.push, self._with_base(i, offset), self.components[i], self.bit_size[i], mask)

    def _do_load_shared(self, i: int, mask: Array, offset: Array) -> Array:
        at = (self._with_base(i, offset) & 0xFFFFFFFF).astype(np.int64)
        return self._read(self.shared, at, self.components[i], self.bit_size[i], mask)

    def _do_store_shared(self, i: int, mask: Array, value: Array, offset: Array) -> None:
        at = self._with_base(i, offset) & 0xFFFFFFFF
        self._store_shared(value, at, self._index(i, "write_mask"), mask)

    def _pair(self, i: int, offset: Array, bits: int) -> tuple[Array, Array]:
        """Where the two elements of an access of shared memory are."""
        unit = bits // 8 * (64 if self._index(i, "st64") else 1)
        first, second = (offset[0].astype(np.int64) + self._index(i, name) * unit for name in ("offset0", "offset1"))
        return first, second

    def _do_load_shared2_amd(self, i: int, mask: Array, offset: Array) -> Array:
        bits = self.bit_size[i]
        return np.concatenate([self._read(self.shared, at, 1, bits, mask) for at in self._pair(i, offset, bits)])

    def _do_store_shared2_amd(self, i: int, mask: Array, value: Array, offset: Array) -> None:
        for at, element in zip(self._pair(i, offset, value.dtype.itemsize * 8), value, strict=True):
            self._store_shared(element[None], at, 1, mask)

    def _do_shared_atomic(self, i: int, mask: Array, offset: Array, value: Array,
                          second: Array | None = None) -> Array:
        return self._shared_atomic(i, mask, self._with_base(i, offset) & 0xFFFFFFFF, value, second)

    _do_shared_atomic_swap = _do_shared_atomic

    def _do_shared_append_amd(self, i: int, mask: Array) -> Array:
        return self._counted_lanes(i, mask, 1)

    def _do_shared_consume_amd(self, i: int, mask: Array) -> Array:
        return self._counted_lanes(i, mask, -1)

    def _counted_lanes(self, i: int, mask: Array, each: int) -> Array:
        """Add `each` for every active lane of a wave to a dword; what was there before."""
        out = self._zero(i)
        for lanes in np.arange(self.padded).reshape(-1, self.wave):
            count = int(mask[lanes].sum())
            if count:
                out[0, lanes] = self._atomic(AtomicOperation.IADD, self.shared, self._index(i, "base"), 32, count * each & 0xFFFFFFFF)
        return out

    def _do_load_scratch(self, i: int, mask: Array, offset: Array) -> Array:
        return self._read_local(self.local, offset[0].astype(np.int64), self.components[i], self.bit_size[i], mask)

    def _do_store_scratch(self, i: int, mask: Array, value: Array, offset: Array) -> None:
        self._store_local(value, offset[0], self._index(i, "write_mask"), mask)

    def _do_load_constant(self, i: int, mask: Array, offset: Array) -> Array:
        return self._read(self.constant_data, self._with_base(i, offset), self.components[i], self.bit_size[i], mask)

    def _address(self, i: int, base: Array, offset: Array) -> Array:
        constant = np.uint64(self._index(i, "base") & 0xFFFFFFFFFFFFFFFF)
        return np.asarray(base[0] + offset[0].astype(np.uint64) + constant)

    def _do_load_global(self, i: int, mask: Array, address: Array) -> Array:
        return self._load_address(address[0], self.components[i], self.bit_size[i], mask)

    _do_load_global_constant = _do_load_global

    def _do_store_global(self, i: int, mask: Array, value: Array, address: Array) -> None:
        self._store_address(value, address[0], self._index(i, "write_mask"), mask)

    def _do_load_global_amd(self, i: int, mask: Array, base: Array, offset: Array) -> Array:
        return self._load_address(self._address(i, base, offset), self.components[i], self.bit_size[i], mask)

    def _do_store_global_amd(self, i: int, mask: Array, value: Array, base: Array, offset: Array) -> None:
        self._store_address(value, self._address(i, base, offset), self._index(i, "write_mask"), mask)

    def _do_global_atomic_amd(self, i: int, mask: Array, base: Array, value: Array, offset: Array) -> Array:
        return self._global_atomic(i, mask, self._address(i, base, offset), value, None)

    def _do_global_atomic_swap_amd(self, i: int, mask: Array, base: Array, compare: Array, value: Array,
                                   offset: Array) -> Array:
        return self._global_atomic(i, mask, self._address(i, base, offset), compare, value)

    def _do_load_smem_amd(self, i: int, mask: Array, base: Array, offset: Array) -> Array:
        self._require_uniform(i, mask, base)
        self._require_uniform(i, mask, offset)
        return self._load_address(base[0] + offset[0].astype(np.uint64), self.components[i], self.bit_size[i], mask)
