from pyaco._core.emu.memory import AddressSpace
from pyaco._core.emu.reference import Engine

class FastEngine(Engine):
    def __init__(self, space: AddressSpace, gfx_level: int, threads: int = 1, bits: int | None = None) -> None: ...

def vector_bits() -> int: ...
