from collections.abc import Callable, Sequence
from typing import Any

from pyaco._core.emu.image_view import Descriptors
from pyaco._core.emu.memory import AddressSpace

class Engine:
    interrupt: Callable[[int, int], bool] | None
    @property
    def space(self) -> AddressSpace: ...
    @property
    def descriptors(self) -> Descriptors: ...
    def __init__(self, space: AddressSpace, gfx_level: int) -> None: ...
    def open(
        self, entry: int, groups: Sequence[int], size: Sequence[int], *, wave_size: int, user_sgprs: Sequence[int],
        workgroup_id_mask: int = 0, ids_in_ttmp: bool = False, packed_ids: bool = False, local_id_components: int = 1,
        workgroup_info: bool = False, scratch_offset: bool = False, mode: int = 0x1C0, lds_bytes: int = 0,
        scratch_bytes: int = 0, budget: int = ..., fill: int = 0xDEADBEEF, code_bytes: int = 0,
        shared_vgpr: int = 0, last_size: Sequence[int] | None = None, first_group: Sequence[int] = (0, 0, 0), time_budget: float = 0,
        scratch_slots: int = 0xFFFFFFFF, cooperative: bool = False, cluster: Sequence[int] = (1, 1, 1),
    ) -> None: ...
    def close(self) -> None: ...
    def meets_other_workgroups(self, entry: int) -> bool: ...
    def run(
        self, entry: int, groups: Sequence[int], size: Sequence[int], *, wave_size: int, user_sgprs: Sequence[int],
        workgroup_id_mask: int = 0, ids_in_ttmp: bool = False, packed_ids: bool = False, local_id_components: int = 1,
        workgroup_info: bool = False, scratch_offset: bool = False, mode: int = 0x1C0, lds_bytes: int = 0,
        scratch_bytes: int = 0, budget: int = ..., fill: int = 0xDEADBEEF, code_bytes: int = 0,
        shared_vgpr: int = 0, last_size: Sequence[int] | None = None, first_group: Sequence[int] = (0, 0, 0), time_budget: float = 0,
        scratch_slots: int = 0xFFFFFFFF, cooperative: bool = False, cluster: Sequence[int] = (1, 1, 1),
    ) -> dict[str, Any]: ...
