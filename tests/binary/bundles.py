"""Offload bundles, written for tests."""

from __future__ import annotations

import struct
from collections.abc import Mapping


def bundle_of(entries: Mapping[str, bytes]) -> bytes:
    """The format that clang documents: magic, count; offset, size, length of the ID and the ID for each; the files."""
    head = 32 + sum(24 + len(name) for name in entries)
    table, files = b"", b""
    for name, data in entries.items():
        files += bytes(-(head + len(files)) % 64)
        table += struct.pack("<QQQ", head + len(files), len(data), len(name)) + name.encode()
        files += data
    return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries)) + table + files
