"""Random programs in ACO's text form for the tests of register allocation and spilling.

All control flow is uniform, so the logical and the linear CFG are the same. Every definition is used, phis included.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass
class Value:
    """A temp: its number and register class."""

    number: int
    rc: str

    def __str__(self) -> str:
        return f"%{self.number}"


@dataclass
class Writer:
    """Builds the text block by block."""

    random: random.Random
    classes: list[str]
    next_number: int = 1
    blocks: list[list[str]] = field(default_factory=list)
    preds: list[list[int]] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    depth: int = 0
    size: int = 12
    most_values: int = 14

    def new(self, rc: str) -> Value:
        value = Value(self.next_number, rc)
        self.next_number += 1
        return value

    def block(self, preds: list[int], kind: str = "uniform") -> int:
        self.blocks.append([])
        self.preds.append(preds)
        self.kinds.append(kind)
        return len(self.blocks) - 1

    def emit(self, line: str) -> None:
        self.blocks[-1].append(line)

    def some_class(self) -> str:
        return self.random.choice(self.classes)

    def operation(self, live: list[Value]) -> None:
        """One instruction on some of the live values; old values are forgotten at random."""
        kind = self.random.random()
        if kind < 0.12 and live:
            source = self.random.choice(live)
            value = self.new(source.rc)
            self.emit(f"{source.rc}: {value} = p_parallelcopy {source}")
            live.append(value)
        elif kind < 0.24:
            parts = [v for v in live if v.rc in ("v1", "s1")]
            parts = [v for v in parts if v.rc == parts[0].rc][: self.random.randint(2, 4)]
            if len(parts) in (2, 4):
                value = self.new(f"{parts[0].rc[0]}{len(parts)}")
                self.emit(f"{value.rc}: {value} = p_create_vector {', '.join(map(str, parts))}")
                live.append(value)
        elif kind < 0.36:
            wide = [v for v in live if v.rc in ("v2", "s2", "v4", "s4")]
            if wide:
                source = self.random.choice(wide)
                count = int(source.rc[1:])
                results = [self.new(source.rc[0] + "1") for _ in range(count)]
                self.emit(", ".join(f"{v.rc}: {v}" for v in results) + f" = p_split_vector {source}")
                live.extend(results)
        elif kind < 0.44 and any(v.rc == "v1" for v in live):
            halves = [self.new("v2b"), self.new("v2b")]
            source = self.random.choice([v for v in live if v.rc == "v1"])
            self.emit(f"v2b: {halves[0]}, v2b: {halves[1]} = p_split_vector {source}")
            live.extend(halves)
        elif kind < 0.52 and sum(v.rc == "v2b" for v in live) > 1:
            parts = self.random.sample([v for v in live if v.rc == "v2b"], 2)
            value = self.new("v1")
            self.emit(f"v1: {value} = p_create_vector {parts[0]}, {parts[1]}")
            live.append(value)
        else:
            operands = self.random.sample(live, min(len(live), self.random.randint(0, 3)))
            results = [self.new(self.some_class()) for _ in range(self.random.randint(0, 2))]
            text = [str(v) for v in operands]
            if operands and self.random.random() < 0.1 and operands[0].rc == "s2":
                text[0] += ":vcc"
            left = ", ".join(f"{v.rc}: {v}" for v in results)
            self.emit((left + " = " if left else "") + "p_unit_test " + ", ".join(text))
            live.extend(results)
        while len(live) > self.most_values or (len(live) > 3 and self.random.random() < 0.3):
            dropped = live.pop(self.random.randrange(len(live)))
            if self.random.random() < 0.3:
                self.emit(f"p_unit_test {dropped}")

    def straight(self, live: list[Value]) -> None:
        for _ in range(self.random.randint(1, self.size)):
            self.operation(live)

    def condition(self, live: list[Value]) -> Value:
        value = self.new("s1")
        operands = self.random.sample(live, min(len(live), 2))
        self.emit(f"s1: {value}:scc = p_unit_test {', '.join(map(str, operands))}")
        return value

    def phi(self, operands: list[Value]) -> Value:
        value = self.new(operands[0].rc)
        name = "p_phi" if value.rc[0] == "v" else "p_linear_phi"
        self.emit(f"{value.rc}: {value} = {name} {', '.join(map(str, operands))}")
        return value

    def branch(self, live: list[Value]) -> list[Value]:
        """if / else with phis where it ends."""
        condition = self.condition(live)
        head = len(self.blocks) - 1
        self.emit("BRANCH")
        sides = []
        for _ in range(2):
            self.block([head])
            mine = list(live)
            self.region(mine)
            sides.append((len(self.blocks) - 1, mine))
            self.emit("JUMP")
        self.blocks[head][-1] = f"p_cbranch_z {condition}:scc BB{head + 1}, BB{sides[0][0] + 1}"
        # the first side is the block behind the branch
        self.blocks[head][-1] = f"p_cbranch_z {condition}:scc BB{sides[0][0] + 1}, BB{head + 1}"
        merge = self.block([side[0] for side in sides])
        for block, _ in sides:
            self.blocks[block][-1] = f"p_branch BB{merge}, BB{merge}"
        both = [v for v in sides[0][1] if v in sides[1][1]]
        result = list(both)
        for rc in dict.fromkeys(self.classes):
            left = [v for v in sides[0][1] if v.rc == rc]
            right = [v for v in sides[1][1] if v.rc == rc]
            for pair in list(zip(left, right, strict=False))[:2]:
                if pair[0] is not pair[1]:
                    result.append(self.phi(list(pair)))
        return result[: self.most_values + 4]

    def loop(self, live: list[Value]) -> list[Value]:
        """A loop with phis; it goes on while a condition holds."""
        before = len(self.blocks) - 1
        header = before + 1
        self.emit(f"p_branch BB{header}, BB{header}")
        self.block([before, -1], "uniform, loop-header")
        self.depth += 1
        carried = [(value, self.phi([value, value]), len(self.blocks[-1]) - 1) for value in self.random.sample(live, min(len(live), 4))]
        inside = [v for v in live if all(v is not c[0] for c in carried) or self.random.random() < 0.3] + [c[1] for c in carried]
        self.region(inside)
        condition = self.condition(inside)
        exiting = len(self.blocks) - 1
        self.emit("BRANCH")
        self.block([exiting])
        latch_values = list(inside)
        for _ in range(self.random.randint(0, 3)):
            self.operation(latch_values)
        latch = len(self.blocks) - 1
        self.emit(f"p_branch BB{header}, BB{header}")
        self.preds[header] = [before, latch]
        for initial, phi, line in carried:
            again = [v for v in latch_values if v.rc == phi.rc]
            name = "p_phi" if phi.rc[0] == "v" else "p_linear_phi"
            second = self.random.choice(again) if again else phi
            self.blocks[header][line] = f"{phi.rc}: {phi} = {name} {initial}, {second}"
        self.depth -= 1
        after = self.block([exiting], "uniform, loop-exit")
        self.blocks[exiting][-1] = f"p_cbranch_z {condition}:scc BB{after}, BB{exiting + 1}"
        return list(inside)

    def region(self, live: list[Value]) -> None:
        self.straight(live)
        for _ in range(self.random.randint(0, 2)):
            kind = self.random.random()
            if len(self.blocks) > 24:
                break
            if kind < 0.4:
                live[:] = self.branch(live)
            elif kind < 0.65 and self.depth < 2:
                live[:] = self.loop(live)
            self.straight(live)

    def text(self) -> str:
        lines = ["After Instruction Selection:", "ACO shader stage: SW (CS), HW (COMPUTE_SHADER)"]
        for number, block in enumerate(self.blocks):
            preds = "".join(f"BB{p}, " for p in self.preds[number])
            lines += [f"BB{number}", f"/* logical preds: {preds}/ linear preds: {preds}/ kind: {self.kinds[number]}, */"]
            lines += ["\t" + line for line in block]
        return "\n".join(lines) + "\n"


def random_program(seed: int, classes: list[str], size: int = 8, most_values: int = 10) -> str:
    """Return the text of a program."""
    w = Writer(random.Random(seed), classes, size=size, most_values=most_values)
    w.block([], "uniform, top-level")
    w.emit("p_startpgm")
    live: list[Value] = []
    w.region(live)
    for first in range(0, len(live), 3):
        w.emit(f"p_unit_test {', '.join(map(str, live[first : first + 3]))}")
    w.emit("s_endpgm")
    return w.text()
