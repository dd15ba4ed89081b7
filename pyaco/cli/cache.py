"""``pyaco cache``: what is in a folder of compiled shaders."""

from __future__ import annotations

import json
import os
import time

from pyaco.cli.command_line import CommandLine, Options, write_text
from pyaco.errors import InputError, PyacoError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pyaco.disk_cache import DiskCache, DiskEntry

__all__ = ["add_arguments", "run"]


def add_arguments(parser: CommandLine) -> None:
    """Describe the command line of this verb."""
    parser.add_argument("folder", metavar="DIR", help="what --cache or PYACO_CACHE named")
    parser.add_argument("--verify", action="store_true", help="read every entry, remove those that are damaged, and exit with 1 if there were any")
    parser.add_argument("--clear", action="store_true", help="remove all entries; other files stay")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: Options) -> None:
    """List, verify or clear."""
    from pyaco.disk_cache import DiskCache

    if not os.path.isdir(options.folder):
        raise InputError(f"{options.folder}: no such folder")
    if options.verify and options.clear:
        raise InputError("--verify and --clear are two commands")
    cache = DiskCache(options.folder)
    if options.clear:
        _print(options, {"removed": cache.clear()}, lambda facts: f"{facts['removed']} entries removed")
    elif options.verify:
        entries = len(cache.entries())
        damaged = [key.hex() for key in cache.verify(remove=True)]
        _print(options, {"entries": entries, "damaged": damaged}, lambda facts: f"{entries} entries, {len(damaged)} of them damaged and removed")
        if damaged:
            raise PyacoError(f"{options.folder}: {len(damaged)} entries were damaged: {', '.join(damaged[:4])}")
    else:
        _list(options, cache)


def _list(options: Options, cache: DiskCache) -> None:
    entries = cache.entries()
    found = {"folder": str(cache.folder), "bytes": sum(entry.size for entry in entries), "entries": [_facts(cache, entry) for entry in entries]}
    _print(options, found, _text)


def _facts(cache: DiskCache, entry: DiskEntry) -> dict[str, Any]:
    from pyaco.compute_pipeline import facts_of_entry

    facts: dict[str, Any] = {"key": entry.key.hex(), "bytes": entry.size, "used": entry.used}
    data = cache.peek(entry.key)
    if data is None:
        return facts | {"kind": "damaged"}
    shader = facts_of_entry(data)
    if shader is None:
        return facts | {"kind": "build"}
    return facts | {"kind": "shader", **{name: shader.get(name) for name in ("target", "wave", "entry", "code")}}


def _text(found: dict[str, Any]) -> str:
    lines = []
    for facts in found["entries"]:
        used = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(facts["used"]))
        what = facts["kind"]
        if what == "shader":
            what = f"{facts['target']} wave{facts['wave']} {facts['entry']}, {facts['code']} bytes of code"
        lines.append(f"{facts['key'][:16]}  {facts['bytes']:9}  {used}  {what}")
    return "\n".join([*lines, f"{len(lines)} entries, {found['bytes']} bytes"])


def _print(options: Options, facts: dict[str, Any], text: Any) -> None:
    write_text(None, json.dumps(facts, indent=2) if options.json else text(facts))
