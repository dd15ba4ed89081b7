"""A folder of entries by key, shared by any number of processes.

An entry is one file: a head with the key and a checksum, then the data. It is written under another name and renamed, which replaces a file
in one step: whoever reads finds an old entry, the new one, or none, and a process that is killed leaves at most a draft, which the next sweep
removes. Nothing is locked. Drafts are not flushed to the disk: after a power failure a file may have its name and not its contents, and then the
checksum says so. A damaged entry is as good as missing; it stays until it is written again or ``verify`` removes it, because whoever finds it
broken cannot know whether another process has just replaced it.

The size is bounded by sweeps, which remove the entries that were used longest ago: one at the first write of a process, and one after each
sixteenth of the limit that it has written. So a folder may exceed its limit by that for each process.

Mesa's ``disk_cache_os.c`` keeps its entries in such files too, with a size in shared memory in place of sweeps, and removes an old file of a
folder drawn at random. Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import struct
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR
from typing import NamedTuple

from pyaco.arguments import checked
from pyaco.errors import InputError

__all__ = ["DEFAULT_LIMIT", "DiskCache", "DiskEntry"]

DEFAULT_LIMIT = 1 << 30
"""Bytes that a cache holds by default."""

_HEAD = struct.Struct("<8s32s32sQ")     # magic, key, checksum of key and data, bytes of data
_MAGIC = b"pyaco\x00\x00\x01"
_FOLDER = re.compile(r"[0-9a-f]{2}")
_ENTRY = re.compile(r"[0-9a-f]{62}\.entry")
_DRAFT = re.compile(r"\.[0-9a-f]{16}\.draft")
_DRAFT_SECONDS = 600                    # nobody writes an entry for so long
_KEY_BYTES = 32


class DiskEntry(NamedTuple):
    """A file of a cache: its key, its bytes with the head, and when it was last used (seconds since 1970)."""

    key: bytes
    size: int
    used: float


def _checksum(key: bytes, data: bytes) -> bytes:
    return hashlib.sha256(key + data).digest()


@checked
class DiskCache:
    """Entries by key in a folder.

    Parameters
    ----------
    folder : str or Path
        Made when the first entry is written.
    limit : int
        Bytes that the entries may take.

    Attributes
    ----------
    hits, misses, writes, damaged, failures : int
        What happened through this object; `failures` are writes that the system refused, of which the first is a RuntimeWarning.

    Raises
    ------
    InputError
        `folder` is a file, or the limit is not positive.
    """

    def __init__(self, folder: str | Path, limit: int = DEFAULT_LIMIT) -> None:
        self.folder = Path(folder)
        try:
            is_folder = S_ISDIR(os.stat(self.folder).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            is_folder = True            # the first entry makes it, or says why not
        except (OSError, ValueError) as error:
            raise InputError(f"no folder of a cache: {error}") from None
        if not is_folder:
            raise InputError(f"{self.folder} is no folder")
        if limit <= 0:
            raise InputError(f"a cache of {limit} bytes")
        self.limit = limit
        self.hits = self.misses = self.writes = self.damaged = self.failures = 0
        self._unswept = limit           # so that the first write sweeps

    def _path(self, key: bytes) -> Path:
        if len(key) != _KEY_BYTES:
            raise InputError(f"a key has 32 bytes, not {len(key)}")
        name = key.hex()
        return self.folder / name[:2] / f"{name[2:]}.entry"

    def get(self, key: bytes) -> bytes | None:
        """Return the data of an entry; None where there is none, or where it is damaged.

        Parameters
        ----------
        key : bytes
            32 bytes, such as a SHA-256.
        """
        path = self._path(key)
        found = self._read(path, key)
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        with suppress(OSError):         # in a folder that is only read
            os.utime(path)
        return found

    def peek(self, key: bytes) -> bytes | None:
        """Return the data of an entry as `get` does, without a trace: it counts as neither used nor missed.

        Parameters
        ----------
        key : bytes
        """
        return self._read(self._path(key), key)

    def _read(self, path: Path, key: bytes) -> bytes | None:
        try:
            content = path.read_bytes()
        except OSError:
            return None
        if len(content) >= _HEAD.size:
            magic, written, checksum, size = _HEAD.unpack_from(content)
            data = content[_HEAD.size :]
            if magic == _MAGIC and written == key and size == len(data) and checksum == _checksum(key, data):
                return data
        self.damaged += 1
        return None

    def put(self, key: bytes, data: bytes) -> bool:
        """Write an entry, or write it again; False where the system refuses.

        Parameters
        ----------
        key : bytes
            32 bytes that decide what the data is: two writers of one key must mean the same.
        data : bytes
        """
        path = self._path(key)
        draft = path.parent / f".{secrets.token_hex(8)}.draft"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with open(draft, "xb") as file:
                    file.write(_HEAD.pack(_MAGIC, key, _checksum(key, data), len(data)))
                    file.write(data)
                os.replace(draft, path)
            except BaseException:
                with suppress(OSError):
                    draft.unlink()
                raise
        except OSError as error:
            if not self.failures:
                warnings.warn(f"the cache {self.folder} takes no entries: {error}", RuntimeWarning, stacklevel=2)
            self.failures += 1
            return False
        self.writes += 1
        self._unswept += _HEAD.size + len(data)
        if self._unswept > self.limit // 16:
            self.sweep()
        return True

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        """Every entry and draft. What others remove meanwhile is left out."""
        try:
            folders = sorted(child for child in self.folder.iterdir() if _FOLDER.fullmatch(child.name))
        except OSError:
            return
        for folder in folders:
            with suppress(OSError), os.scandir(folder) as children:
                for child in children:
                    if _ENTRY.fullmatch(child.name) or _DRAFT.fullmatch(child.name):
                        with suppress(OSError):
                            yield Path(child.path), child.stat(follow_symlinks=False)

    def entries(self) -> list[DiskEntry]:
        """Return what is there, by key."""
        found = [
            DiskEntry(bytes.fromhex(path.parent.name + path.stem), status.st_size, status.st_mtime)
            for path, status in self._files()
            if path.suffix == ".entry"
        ]
        return sorted(found)

    def sweep(self) -> int:
        """Remove forgotten drafts, and the entries used longest ago until seven eighths of the limit are left if it is exceeded.

        Returns
        -------
        int
            Entries removed.
        """
        self._unswept = 0
        now = time.time()
        kept: list[tuple[float, int, Path]] = []
        for path, status in self._files():
            if path.suffix == ".draft":
                if now - status.st_mtime > _DRAFT_SECONDS:
                    path.unlink(missing_ok=True)
            else:
                kept.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in kept)
        if total <= self.limit:
            return 0
        removed = 0
        for _, size, path in sorted(kept):
            if total <= self.limit - self.limit // 8:
                break
            path.unlink(missing_ok=True)
            total -= size
            removed += 1
        return removed

    def verify(self, remove: bool = False) -> list[bytes]:
        """Read every entry and return the keys of those that are damaged.

        Parameters
        ----------
        remove : bool
            Remove them, unless somebody replaces them meanwhile.
        """
        found = []
        for entry in self.entries():
            path = self._path(entry.key)
            if self._read(path, entry.key) is None and path.exists():
                found.append(entry.key)
                if remove:
                    self._remove_damaged(path, entry.key)
        return found

    def _remove_damaged(self, path: Path, key: bytes) -> None:
        aside = path.parent / f".{secrets.token_hex(8)}.draft"
        with suppress(OSError):
            os.rename(path, aside)
            if self._read(aside, key) is None:
                aside.unlink()
            else:                       # somebody has written it again since it was read
                os.replace(aside, path)

    def clear(self) -> int:
        """Remove all entries and drafts, nothing else, and return how many entries there were."""
        removed = 0
        for path, _ in self._files():
            path.unlink(missing_ok=True)
            removed += path.suffix == ".entry"
        return removed
