"""What NIR's ALU opcodes are: NIR's ``nir_op_infos`` as Python objects.

>>> ALU_INFOS["fadd"].input_types
('float', 'float')
>>> hex(ALU_INFOS["fadd"].evaluate(0x3F800000, 0x40000000))
'0x40400000'

The table is ``nir/data/alu.txt``; definitions in terms of other opcodes stand in ``nir/data/lower_alu.txt``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from pyaco._core.nir import build, evaluate
from pyaco.arguments import checked
from pyaco.errors import InputError

__all__ = ["ALU_INFOS", "AluInfo"]

PROPERTIES = {"c": "2src_commutative", "a": "associative", "i": "inexact_associative", "s": "selection"}
SIZES = {"bool": (1, 8, 16, 32), "float": (16, 32, 64), "int": (1, 8, 16, 32, 64), "uint": (1, 8, 16, 32, 64)}


def _size(type: str) -> int:
    """Bits of a type such as ``uint32``; 0 where it has none."""
    return int(re.sub(r"\D", "", type) or 0)


@dataclass(frozen=True)
class AluInfo:
    """An opcode, as NIR's ``nir_op_info`` describes it.

    Parameters
    ----------
    name : str
        The opcode.
    number : int
        Its number in this package.
    output_size : int
        Components of the result; 0 where the opcode works on each component.
    output_type : str
        ``int``, ``uint``, ``float`` or ``bool``; without a number of bits it has those of the operands without one.
    input_sizes, input_types : tuple
        The same of each operand.
    is_conversion : bool
        Whether the opcode only converts between types.
    algebraic_properties : tuple of str
        Of ``2src_commutative`` (in the first two operands), ``associative``, ``inexact_associative`` (but for rounding) and ``selection``.
    """

    name: str
    number: int
    output_size: int
    output_type: str
    input_sizes: tuple[int, ...]
    input_types: tuple[str, ...]
    is_conversion: bool
    algebraic_properties: tuple[str, ...]

    @property
    def num_inputs(self) -> int:
        """Operands."""
        return len(self.input_types)

    @property
    def is_selection(self) -> bool:
        """Whether the first operand chooses one of the others."""
        return "selection" in self.algebraic_properties

    @property
    def bit_sizes(self) -> tuple[int, ...]:
        """Bits that operands without a number of bits may have; empty where there are none such."""
        kinds = [type for type in self.input_types if not _size(type)]
        return tuple(bits for bits in SIZES[kinds[0]] if all(bits in SIZES[kind] for kind in kinds)) if kinds else ()

    @property
    def definitions(self) -> tuple[str, ...]:
        """Rules of ``lower_alu.txt`` for the opcode; those under [define] are also its value."""
        return tuple(rule for rule in _rules() if re.split(r"[@(]", rule, maxsplit=1)[0] == self.name)

    def input_bits(self, operand: int, bit_size: int) -> int:
        """Bits of an operand of an instruction whose operands have `bit_size` bits where the table says nothing."""
        return _size(self.input_types[operand]) or bit_size

    def output_bits(self, bit_size: int) -> int:
        """The same of the result."""
        return _size(self.output_type) or bit_size

    @checked
    def evaluate(self, *operands: int | Sequence[int], bit_size: int = 32) -> int | list[int]:
        """The value of the opcode on constants, as constant folding computes it.

        Parameters
        ----------
        *operands : int or sequence of int
            Bits of each operand; a sequence has those of each component.
        bit_size : int
            Bits of the operands that the table gives none.

        Returns
        -------
        int or list of int
            Bits of the result, a list where it has several components.

        Raises
        ------
        InputError
            The opcode takes other operands.
        """
        if len(operands) != self.num_inputs:
            raise InputError(f"{self.name} takes {self.num_inputs} operands, not {len(operands)}")
        if self.bit_sizes and bit_size not in self.bit_sizes:
            raise InputError(f"{self.name} takes operands of {', '.join(map(str, self.bit_sizes))} bits, not {bit_size}")
        vectors = [[operand] if isinstance(operand, int) else list(operand) for operand in operands]
        components = max([len(vector) for vector, size in zip(vectors, self.input_sizes, strict=True) if not size], default=1)
        for i, (vector, size) in enumerate(zip(vectors, self.input_sizes, strict=True)):
            bits = self.input_bits(i, bit_size)
            if len(vector) != (size or components) or not 1 <= len(vector) <= 16:
                raise InputError(f"{self.name}: operand {i} has {len(vector)} components, not {size or components}")
            if any(not -(1 << (bits - 1)) <= value < 1 << bits for value in vector):
                raise InputError(f"{self.name}: operand {i} does not fit in {bits} bits")
            vectors[i] = [value & ((1 << bits) - 1) for value in vector]
        found = evaluate.alu(self.number, bit_size, self.output_bits(bit_size), components, vectors)
        if found is None:
            raise InputError(f"{self.name} has no value for operands of {bit_size} bits")
        return found if len(found) > 1 else found[0]


def _data(name: str) -> list[str]:
    text = (resources.files("pyaco") / "nir" / "data" / name).read_text()
    return [line for line in (line.strip() for line in text.splitlines()) if line and not line.startswith("#")]


def _rules() -> list[str]:
    return [" ".join(line.split()) for line in _data("lower_alu.txt") if not line.startswith("[")]


class _Infos(Mapping[str, AluInfo]):
    """The table, read when it is asked for the first time."""

    def __init__(self) -> None:
        self._rows: dict[str, AluInfo] = {}

    def _table(self) -> dict[str, AluInfo]:
        if not self._rows:
            self._rows = {row[0]: _info(row) for row in map(str.split, _data("alu.txt"))}
        return self._rows

    def __getitem__(self, name: str) -> AluInfo:
        return self._table()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table())

    def __len__(self) -> int:
        return len(self._table())


def _info(row: Sequence[str]) -> AluInfo:
    operands = [word.split(":") for word in row[4:]]
    properties = tuple(name for letter, name in PROPERTIES.items() if letter in row[3])
    return AluInfo(row[0], build.ALU[row[0]], int(row[1]), row[2], tuple(int(size) for _, size in operands),
                   tuple(type for type, _ in operands), "v" in row[3], properties)


#: By name, every ALU opcode; in the order of their numbers.
ALU_INFOS: Mapping[str, AluInfo] = _Infos()
