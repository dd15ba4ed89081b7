"""Compare our decode of command streams with a real decoder's text: ``python tests/oracle/replay_pm4.py FILE``.

FILE is JSON (``.xz`` or not): a list of ``{"regdb", "ib": [hexadecimal dwords], "text"}``. Every packet, register, field and value of the
text must be in ours, packet by packet; where the decoder prints a bare offset, ours may give the register's name. Prints one JSON
object.
"""

from __future__ import annotations

import collections
import json
import lzma
import re
import sys
from pathlib import Path
from typing import Any

from pyaco import pm4

LEVELS = {"gfx6": 60, "gfx7": 70, "gfx8": 80, "gfx81": 81, "gfx9": 90, "gfx940": 94, "gfx10": 100, "gfx103": 103, "gfx11": 110,
          "gfx115": 115, "gfx12": 120}

Said = tuple[str, collections.Counter[str]]


def packets(text: str) -> list[Said]:
    """Return each packet's heading and how often each line under it occurs."""
    found: list[Said] = []
    for line in text.splitlines():
        if not line.strip() or "IB begin" in line or "IB end" in line:
            continue
        match = re.match(r"([0-9a-f]{8})( .*)?$", line)
        said = (match[2] or "").strip() if match else line.strip()
        if match and said and line[9:10] != " ":
            found.append((said, collections.Counter()))
        elif said:
            found[-1][1][said] += 1
    return found


def differences(entry: dict[str, Any]) -> list[str]:
    """Return what the text of `entry` says and ours does not."""
    words = [int(word, 16) if isinstance(word, str) else word for word in entry["ib"]]
    ours = packets(pm4.format_packets(pm4.parse(words, LEVELS[entry["regdb"]])))
    theirs = packets(entry["text"])
    missing = [] if [name for name, _ in ours] == [name for name, _ in theirs] else ["packets"]
    for (name, mine), (_, said) in zip(ours, theirs, strict=False):
        missing += [f"{name} {line}" for line, count in said.items()
                    if mine[line] < count and not re.match(r"0x[0-9a-f]{5} <- ", line)]
    return missing


def main() -> None:
    """Replay the file that the command line names."""
    path = Path(sys.argv[1])
    data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    result: dict[str, dict[str, Any]] = {}
    for number, entry in enumerate(json.loads(data)):
        table = result.setdefault(f"pm4 {entry['regdb']}", {"tried": 0, "agreed": 0, "skipped": 0, "first_disagreements": []})
        table["tried"] += 1
        missing = differences(entry)
        table["agreed"] += not missing
        if missing and len(table["first_disagreements"]) < 5:
            table["first_disagreements"].append({"stream": number, "missing": missing[:5]})
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
