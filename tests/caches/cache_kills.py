"""Writers of one cache that are killed at random: ``cache_kills.py FOLDER ROUNDS LIMIT SEED`` prints what came of it as JSON.

Eight processes look up and write entries whose data follows from their keys. In each round one of them is killed wherever it happens to be, and
another takes its place. A writer notes, in memory that all share, which entries it has finished; each of these must be found, whole, at any
time after, unless the cache may evict.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import random
import signal
import struct
import sys
import time

from pyaco.disk_cache import DiskCache

WRITERS = 8
KEYS = 300


def key_of(number: int) -> bytes:
    return hashlib.sha256(f"key {number}".encode()).digest()


def data_of(number: int) -> bytes:
    """Up to 48 KiB; every 16th entry is empty."""
    size = number * 7919 % 49152 if number % 16 else 0
    return random.Random(number).randbytes(size)


class Board:
    """What the processes know of each other: a byte for each entry that is finished, counts of each writer, and of what went wrong."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, KEYS + 8 * WRITERS + 8)

    def finish(self, number: int) -> None:
        self._memory[number] = 1

    def finished(self) -> list[int]:
        return [number for number in range(KEYS) if self._memory[number]]

    def count(self, slot: int) -> None:
        place = KEYS + 8 * slot
        struct.pack_into("<Q", self._memory, place, struct.unpack_from("<Q", self._memory, place)[0] + 1)

    def complain(self) -> None:
        self._memory[KEYS + 8 * WRITERS] = 1

    @property
    def wrong(self) -> bool:
        return bool(self._memory[KEYS + 8 * WRITERS])

    @property
    def rounds(self) -> int:
        return sum(struct.unpack_from(f"<{WRITERS}Q", self._memory, KEYS))


def write(folder: str, limit: int, evicts: bool, seed: int, board: Board, slot: int) -> None:
    """Look up and write entries until somebody ends this."""
    cache = DiskCache(folder, limit)
    draw = random.Random(seed)
    while True:
        number = draw.randrange(KEYS)
        wanted = data_of(number)
        found = cache.get(key_of(number))
        if found is not None and found != wanted:
            board.complain()
        written = cache.put(key_of(number), wanted)
        after = cache.get(key_of(number))
        if not written or (after is None and not evicts) or (after is not None and after != wanted) or cache.damaged:
            board.complain()
        board.finish(number)
        board.count(slot)
        if draw.random() < 0.01:
            cache.verify(remove=True)


def run(folder: str, rounds: int, limit: int, seed: int) -> dict[str, object]:
    """Kill and replace writers for so many rounds."""
    evicts = limit < sum(len(data_of(number)) + 128 for number in range(KEYS))
    board, draw = Board(), random.Random(seed)

    def begin(slot: int) -> int:
        start = draw.getrandbits(32)
        child = os.fork()
        if child == 0:
            try:
                write(folder, limit, evicts, start, board, slot)
            finally:
                board.complain()                # it never ends by itself
                os._exit(1)
        return child

    children = [begin(slot) for slot in range(WRITERS)]
    reader = DiskCache(folder, limit)
    lost = 0
    for number in range(rounds):
        time.sleep(draw.random() * 0.004)
        slot = draw.randrange(WRITERS)
        os.kill(children[slot], signal.SIGKILL)
        os.waitpid(children[slot], 0)
        children[slot] = begin(slot)
        if number % 50 == 0 and not evicts:
            lost += sum(reader.get(key_of(each)) != data_of(each) for each in board.finished())
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    found = {each: reader.get(key_of(each)) for each in board.finished()}
    wrong = sum(data is not None and data != data_of(each) for each, data in found.items())
    if not evicts:
        lost += sum(data is None for data in found.values())
    return {
        "kills": rounds, "writes": board.rounds, "finished": len(found), "wrong": wrong + board.wrong, "lost": lost, "damaged": len(reader.verify()),
        "bytes": sum(entry.size for entry in reader.entries()), "evicts": evicts,
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))))
