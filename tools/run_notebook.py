"""Run a notebook's cells in this process and write what they show into it: ``run_notebook.py FILE.ipynb ...``.

A cell shows what it prints, and the value of its last line where that is an expression: pictures as PNG, all else as text. That is what a
kernel does for cells that are plain Python; the packages that drive kernels are not needed.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

__all__ = ["outputs_of", "run_notebook"]

Output = dict[str, Any]


def run_notebook(path: Path) -> list[tuple[str, list[Output]]]:
    """Return the source and the outputs of each code cell; the cells run in the notebook's folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found = []
    before = Path.cwd()
    os.chdir(path.parent)
    sys.path.insert(0, str(path.parent))
    try:
        for number, cell in enumerate(json.loads(path.read_text())["cells"]):
            if cell["cell_type"] == "code":
                source = "".join(cell["source"])
                found.append((source, outputs_of(source, f"{path.name}, cell {number}", names)))
    finally:
        os.chdir(before)
        sys.path.remove(str(path.parent))
    return found


def outputs_of(source: str, place: str, names: dict[str, Any]) -> list[Output]:
    """Run one cell; return its outputs as notebooks hold them."""
    tree = ast.parse(source, place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    out, value = io.StringIO(), None
    with contextlib.redirect_stdout(out):
        exec(compile(tree, place, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), place, "eval"), names)
    outputs: list[Output] = []
    if out.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": out.getvalue().splitlines(keepends=True)})
    if value is not None:
        data: dict[str, Any] = {"text/plain": repr(value).split(" at 0x")[0].splitlines(keepends=True)}
        if hasattr(value, "_repr_png_"):
            data = {"image/png": base64.b64encode(value._repr_png_()).decode()} | data
        outputs.append({"data": data, "metadata": {}, "output_type": "display_data"})
    return outputs


def main(paths: list[str]) -> None:
    """Write the outputs of notebooks into them."""
    for name in paths:
        path = Path(name).resolve()
        results = iter(run_notebook(path))
        notebook = json.loads(path.read_text())
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell["outputs"] = next(results)[1]
        path.write_text(json.dumps(notebook, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
