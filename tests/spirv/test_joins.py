"""Blocks where paths of a selection meet before its merge block: graphs without a merge for each branch, read and interpreted."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from module_words import Module

from pyaco import InputError, spirv
from pyaco._core.nir import validate
from pyaco.nir import interpreter

LANES, TURNS = 32, 3
#: Targets of each block. Block "0" is the header of a selection that ends in "merge"; a graph with a block "next" is the body of a loop, whose
#: continue target that is; "after" is the loop's end. A block with more than two targets ends in a switch.
Graph: TypeAlias = dict[str, list[str]]


def closed(graph: Graph) -> Graph:
    """The graph with the blocks around it: "begin", "header" of the loop, "merge", "next", "after"."""
    if not {"next", "after"} & {each for targets in graph.values() for each in targets}:
        return {"begin": ["0"], **graph, "merge": []}
    return {"begin": ["header"], "header": ["0"], **graph, "merge": ["next"], "next": ["header", "after"], "after": []}


def mixed(value: int, number: int) -> int:
    """What a block makes of the number that comes to it."""
    value = (value * 1664525 + 2 * number + 1) & 0xFFFFFFFF
    return value ^ value >> 13


def expected(graph: Graph, value: int) -> int:
    """Walk through the graph."""
    graph, block, turns = closed(graph), "begin", 0
    while True:
        value = mixed(value, list(graph).index(block))
        targets = graph[block]
        if not targets:
            return value
        turns += block == "next"
        block = targets[turns == TURNS] if block == "next" else targets[(value >> 4) % len(targets)]


def write(graph: Graph) -> bytes:
    """The graph as a module whose blocks have phis."""
    graph = closed(graph)
    m = Module((LANES, 1, 1))
    number, labels, values = m.uint(), {name: m.id() for name in graph}, {name: m.id() for name in graph}
    count, counted = m.id(), m.id()
    place = m.access_chain("StorageBuffer", number, m.variable("StorageBuffer", m.struct((m.array(number, 4), 0)), 0), m.constant(0),
                           m.builtin("LocalInvocationId"))
    first = m.load(number, place)
    m.emit(m.body, "Branch", labels["begin"])
    for index, (name, targets) in enumerate(graph.items()):
        m.emit(m.body, "Label", labels[name])
        arriving = [(values[other], labels[other]) for other, leads_to in graph.items() if name in leads_to]
        value = m.op("Phi", number, *(each for pair in arriving for each in pair)) if arriving else first
        if name == "header":
            m.emit(m.body, "Phi", number, count, m.constant(0), labels["begin"], counted, labels["next"])
        value = m.op("IAdd", number, m.op("IMul", number, value, m.constant(1664525)), m.constant(2 * index + 1))
        m.emit(m.body, "BitwiseXor", number, values[name], value, m.op("ShiftRightLogical", number, value, m.constant(13)))
        if not targets:
            m.store(place, values[name])
        else:
            _end(m, name, [labels[each] for each in targets], labels, values[name], (count, counted))
    return m.words()


def _end(m: Module, name: str, targets: list[int], labels: dict[str, int], value: int, counter: tuple[int, int]) -> None:
    """Append what ends a block."""
    number, boolean = m.uint(), m.type("Bool")
    chosen = m.op("UMod", number, m.op("ShiftRightLogical", number, value, m.constant(4)), m.constant(len(targets)))
    condition = m.op("IEqual", boolean, chosen, m.constant(0))
    if name == "next":
        m.emit(m.body, "IAdd", number, counter[1], counter[0], m.constant(1))
        condition = m.op("ULessThan", boolean, counter[1], m.constant(TURNS))
    if name == "header":
        m.emit(m.body, "LoopMerge", labels["after"], labels["next"], 0)
    elif name == "0":
        m.emit(m.body, "SelectionMerge", labels["merge"], 0)
    if len(targets) == 1:
        m.emit(m.body, "Branch", targets[0])
    elif len(targets) == 2:
        m.emit(m.body, "BranchConditional", condition, *targets)
    else:
        m.emit(m.body, "Switch", chosen, targets[0], *(word for case in list(enumerate(targets))[1:] for word in case))


def agree(graph: Graph) -> None:
    """What the reader makes of a graph, interpreted, gives what a walk through it gives."""
    shader = spirv.read(write(graph))
    validate.run(shader)
    values = np.random.default_rng(1).integers(0, 1 << 32, LANES, np.uint32)
    found = {(0, 0): values.copy()}
    interpreter.run(shader, (1, 1, 1), found)
    assert found[0, 0].tolist() == [expected(graph, int(value)) for value in values]


# The first is what spirv-fuzz made of "if (c) { y } x": the selection goes on to the end of a larger construct
GRAPHS: dict[str, Graph] = {
    "one side leads to the other": {"0": ["x", "y"], "y": ["x"], "x": ["merge"]},
    "the other way round": {"0": ["y", "x"], "y": ["x"], "x": ["merge"]},
    "two sides meet": {"0": ["y", "z"], "y": ["x"], "z": ["x"], "x": ["merge"]},
    "one after the other": {"0": ["x", "y"], "y": ["x"], "x": ["u", "v"], "v": ["u"], "u": ["merge"]},
    "two joins of one block": {"0": ["u", "v"], "u": ["x", "y"], "v": ["x", "y"], "x": ["y"], "y": ["merge"]},
    "some leave earlier": {"0": ["y", "z"], "y": ["x", "merge"], "z": ["x", "merge"], "x": ["merge"]},
    "sides of a switch": {"0": ["u", "v", "w"], "u": ["x"], "v": ["x"], "w": ["x", "merge"], "x": ["merge"]},
    "in a loop": {"0": ["x", "y"], "y": ["x", "after"], "x": ["merge", "next"]},
}


@pytest.mark.parametrize("name", GRAPHS)
def test_paths_meet(name: str) -> None:
    agree(GRAPHS[name])


@pytest.mark.skipif(shutil.which("spirv-val") is None, reason="needs spirv-val")
@pytest.mark.parametrize("name", ["one side leads to the other", "the other way round", "two sides meet"])
def test_what_meets_is_valid(name: str, tmp_path: Path) -> None:
    """The Khronos validator calls these structured."""
    path = tmp_path / "graph.spv"
    words = np.frombuffer(write(GRAPHS[name]), np.uint32).copy()
    words[1] = 0x10300                            # its entry points name no buffers yet
    path.write_bytes(words.tobytes())
    done = subprocess.run(["spirv-val", "--target-env", "vulkan1.1", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def random_graph(seed: int) -> Graph:
    """A graph without cycles, with or without a loop around it."""
    source = random.Random(seed)
    size, leaves = source.randrange(3, 12), ["merge", *(["next", "after"] if seed % 2 else [])]
    graph: Graph = {}
    for block in range(size):
        later = [str(each) for each in range(block + 1, min(block + 4, size))]
        wanted = source.choice((1, 2, 2, 2)) if block else 2
        places = later * 2 + leaves
        graph[str(block)] = list(dict.fromkeys(source.choice(places) for _ in range(wanted)))
    graph["0"] = ["1", "2"]
    seen, left = set(), ["0"]
    while left:
        name = left.pop()
        if name in graph and name not in seen:
            seen.add(name)
            left += graph[name]
    return {name: targets for name, targets in graph.items() if name in seen}


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed: int) -> None:
    agree(random_graph(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1600))
def test_many_random_graphs(seed: int) -> None:
    agree(random_graph(seed))


def test_a_cycle_is_refused() -> None:
    """Two blocks that lead to each other are no loop without a header."""
    with pytest.raises(InputError, match="reached on two paths"):
        spirv.read(write({"0": ["x", "y"], "x": ["y", "merge"], "y": ["x", "merge"]}))
