"""The cache on disk: entries that are whole or missing, whatever happens to files and writers; its size; what it leaves alone."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from pyaco import InputError
from pyaco.disk_cache import DiskCache

KILLS = Path(__file__).with_name("cache_kills.py")
ROOT = Path(__file__).parents[2]


def key(number: int) -> bytes:
    return number.to_bytes(2, "big") * 16


def test_entries_are_found_again(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "new" / "cache")
    assert cache.get(key(1)) is None and cache.entries() == []
    for number in range(300):
        assert cache.put(key(number), bytes([number % 256]) * number)
    other = DiskCache(tmp_path / "new" / "cache")
    assert [other.get(key(number)) for number in range(300)] == [bytes([number % 256]) * number for number in range(300)]
    assert (other.hits, other.misses, other.damaged, cache.writes, cache.misses) == (300, 0, 0, 300, 1)
    assert [entry.key for entry in other.entries()] == sorted(key(number) for number in range(300))
    assert other.verify() == []


def test_any_damage_is_found(tmp_path: Path) -> None:
    """Every truncation, every byte changed, an entry under another name, and what is no entry at all: missing; a write mends it."""
    cache = DiskCache(tmp_path)
    data = random.Random(1).randbytes(200)
    cache.put(key(1), data)
    path = next(tmp_path.glob("*/*.entry"))
    whole = path.read_bytes()
    broken = [whole[:size] for size in range(len(whole))]
    broken += [whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :] for at in range(len(whole))]
    broken += [whole + b"\0", bytes(len(whole)), whole[::-1]]
    for content in broken:
        path.write_bytes(content)
        assert cache.get(key(1)) is None
    assert cache.damaged == len(broken) and cache.verify() == [key(1)]
    assert cache.put(key(1), data) and cache.get(key(1)) == data
    cache.put(key(2), b"two")
    os.replace(path, next(path for path in tmp_path.glob("*/*.entry") if path.read_bytes() != whole))
    assert cache.get(key(2)) is None
    assert cache.verify(remove=True) == [key(2)] and cache.verify() == [] and cache.entries() == []


def test_size_is_bounded_and_what_was_used_last_stays(tmp_path: Path) -> None:
    limit = 64 * 1024
    cache = DiskCache(tmp_path, limit)
    for number in range(400):
        cache.put(key(number), bytes(1000))
        if number >= 20:
            assert cache.get(key(7)) == bytes(1000)         # used again and again
        for path in tmp_path.glob("*/*.entry"):             # as if a second had passed
            status = path.stat()
            os.utime(path, (status.st_atime - 1, status.st_mtime - 1))
    assert sum(entry.size for entry in cache.entries()) <= limit + limit // 16 + 1100
    kept = {entry.key for entry in cache.entries()}
    assert {key(7), *(key(number) for number in range(390, 400))} <= kept and key(8) not in kept


def test_drafts_that_nobody_finished_are_swept(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    cache.put(key(1), b"data")
    folder = next(tmp_path.glob("*/*.entry")).parent
    old, new = folder / f".{'a' * 16}.draft", folder / f".{'b' * 16}.draft"
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    os.utime(old, (time.time() - 4000,) * 2)
    assert cache.sweep() == 0 and not old.exists() and new.exists()
    assert len(cache.entries()) == 1


def test_foreign_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "ab").mkdir()
    strangers = [tmp_path / "notes.entry", tmp_path / "ab" / "notes", tmp_path / "ab" / "x.entry", tmp_path / "ab" / ".draft"]
    for path in strangers:
        path.write_text("mine")
    cache = DiskCache(tmp_path, 1000)
    for number in range(50):
        cache.put(key(number), bytes(50))
    cache.verify(remove=True)
    assert cache.clear() >= 1 and cache.entries() == []
    assert all(path.read_text() == "mine" for path in strangers)


def test_a_folder_that_takes_nothing_is_said_once(tmp_path: Path) -> None:
    (tmp_path / key(1).hex()[:2]).write_text("a file where a folder should be")
    cache = DiskCache(tmp_path)
    with pytest.warns(RuntimeWarning, match="takes no entries: .*exists"):
        assert not cache.put(key(1), b"data")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not cache.put(key(1), b"data")
    assert cache.failures == 2 and cache.get(key(1)) is None


def test_bad_arguments(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("x" * 5000, "a\0b"):
        with pytest.raises(InputError, match="no folder of a cache"):
            DiskCache(name)
    with pytest.raises(InputError, match="file is no folder"):
        DiskCache(tmp_path / "file")
    with pytest.raises(InputError, match="a cache of 0 bytes"):
        DiskCache(tmp_path, 0)
    with pytest.raises(InputError, match="32 bytes, not 3"):
        DiskCache(tmp_path).get(b"abc")


def killed(folder: Path, rounds: int, limit: int, seed: int) -> dict[str, int]:
    command = [sys.executable, str(KILLS), str(folder), str(rounds), str(limit), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def check_kills(folder: Path, rounds: int, seed: int) -> None:
    found = killed(folder / "large", rounds, 1 << 30, seed)
    assert (found["kills"], found["wrong"], found["lost"], found["damaged"]) == (rounds, 0, 0, 0), found
    assert found["writes"] > rounds // 4 and found["finished"] > 20 and not found["evicts"], found
    limit = 1 << 20
    found = killed(folder / "small", rounds, limit, seed + 1)
    assert (found["wrong"], found["damaged"]) == (0, 0) and found["evicts"], found
    assert found["bytes"] <= limit + 8 * (limit // 16 + 49152), found


def test_writers_that_are_killed(tmp_path: Path) -> None:
    check_kills(tmp_path, 300, 1)


@pytest.mark.slow
def test_writers_that_are_killed_more_often(tmp_path: Path) -> None:
    """``python tests/caches/cache_kills.py FOLDER 10000 1073741824 3`` does it ten thousand times, in several minutes."""
    check_kills(tmp_path, 1500, 3)
