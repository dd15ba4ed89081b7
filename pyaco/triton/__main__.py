"""``python -m pyaco.triton [--device TARGET] script.py [arguments]``: a script whose Triton kernels run on an emulated GPU."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Sequence

from pyaco.errors import PyacoError, UnsupportedError

_VARIABLE = "PYACO_TRITON"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script as ``python script.py`` would; return the exit status where it could not be begun."""
    parser = argparse.ArgumentParser(prog="python -m pyaco.triton", description="Run a script whose Triton kernels run on an emulated AMD GPU.")
    parser.add_argument("--device", metavar="TARGET", default=os.environ.get(_VARIABLE),
                        help=f"the GPU, such as gfx942; by default what the environment variable {_VARIABLE} says")  # fmt: skip
    parser.add_argument("--skip-benchmarks", action="store_true", help="skip what triton.testing.perf_report would measure, as tutorials do")
    parser.add_argument("script", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script gets")
    given = parser.parse_args(arguments)
    if not given.device:
        parser.error(f"which GPU? --device or {_VARIABLE} says it")
    from pyaco.triton import activate

    try:
        activate(given.device)
    except PyacoError as error:
        print(f"error: {error}", file=sys.stderr)
        return 3 if isinstance(error, UnsupportedError) else 2
    if given.skip_benchmarks:
        _skip_benchmarks()
    sys.argv = [given.script, *given.arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(given.script))
    runpy.run_path(given.script, run_name="__main__")
    return 0


def _skip_benchmarks() -> None:
    from triton import testing

    def run(mark: testing.Mark, *arguments: object, **options: object) -> None:
        print(f"benchmark {mark.fn.__name__}: skipped")

    testing.Mark.run = run


if __name__ == "__main__":
    sys.exit(main())
