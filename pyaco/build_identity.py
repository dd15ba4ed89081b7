"""Which pyaco this is: a hash of everything in the package that decides what a shader is compiled to.

The version is not enough: a working tree keeps its version while its kernels change, and one version may be built by several compilers. So
the contents of all kernels, sources and tables from reader to assembler are hashed. That takes 40 ms, longer than most compilations, hence the
result is kept in the cache that it is for, under the names, sizes, inode numbers and times of the files; the time of the last change of an inode
(``ctime``) cannot be set by whoever installs or unpacks a file.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pyaco
from pyaco.disk_cache import DiskCache

__all__ = ["build_identity"]

#: What the compiler consists of: folders and files of the package; folders whole, but for files that are not listed in _SUFFIXES.
_PARTS = (
    "_core/common", "_core/ir", "_core/spirv", "_core/nir", "_core/aco", "_core/isa", "spirv", "nir", "aco", "isa", "pipelines", "targets",
    "descriptors", "registers", "abi.py", "compiler.py", "debug_switches.py", "passes.py", "source.py", "formats.py",
    "compute_pipeline.py",
)  # fmt: skip
_SUFFIXES = (".py", ".so", ".txt", ".json", ".dylib")

_identities: list[bytes] = []           # of this process, once it is known: modules that are loaded do not change


def _files(package: Path) -> list[Path]:
    found: list[Path] = []
    for part in _PARTS:
        path = package / part
        if path.is_dir():
            found += [child for child in path.rglob("*") if child.suffix in _SUFFIXES]
        elif path.exists():
            found.append(path)
    return sorted(found)


def _stamp(files: list[Path]) -> bytes:
    """A hash of where the files are and when they changed."""
    digest = hashlib.sha256(b"stamp")
    for path in files:
        status = os.stat(path)
        facts = (str(path), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        digest.update(repr(facts).encode())
    return digest.digest()


def build_identity(cache: DiskCache | None = None) -> bytes:
    """Return 32 bytes that differ between two packages that may compile a shader differently.

    Parameters
    ----------
    cache : DiskCache, optional
        Where they are kept from process to process.
    """
    if _identities:
        return _identities[0]
    package = Path(pyaco.__file__).parent
    files = _files(package)
    stamp = _stamp(files)
    found = cache.get(stamp) if cache is not None else None
    if found is None or len(found) != hashlib.sha256().digest_size:
        found = _contents(package, files)
        if cache is not None:
            cache.put(stamp, found)
    _identities.append(found)
    return found


def _contents(package: Path, files: list[Path]) -> bytes:
    digest = hashlib.sha256(pyaco.__version__.encode())
    for path in files:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(package)} {len(content)}\n".encode())
        digest.update(content)
    return digest.digest()
