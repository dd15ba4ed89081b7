#!/usr/bin/env python3
"""Judge single shaders and print what differs: ``python tests/oracle/check_shader.py saxpy --target gfx1100 --wave 32``.

``--engine emu`` (default) compiles and runs on the emulator; ``--engine nir`` executes the NIR after ``--after
PASS`` ("read" for the reader's output, all passes by default); ``--engine radv`` runs RADV's machine code of the
same shader on lavapipe's inputs only to show its statistics. Without names, all cases. ``--show asm|PASS`` prints
the disassembly or the IR after a pass.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE), str(HERE.parent / "shaders")]

from cases import CASES, Case  # noqa: E402
from judge import differences, expected, nir_after, run_emulator, run_nir  # noqa: E402
from vulkan_peer import Lavapipe, Radv  # noqa: E402

import pyaco  # noqa: E402


def judge(case: Case, target: str, wave: int, options: argparse.Namespace) -> list[str]:
    """Run one case one way; return what is wrong."""
    inputs = case.inputs()
    if options.engine == "radv":
        found = Radv(target).compile(case.spirv.read_bytes(), wave, case.spec, case.entry)
        print(f"  {dict(found.statistics)}")
        if options.show:
            print(found.assembly if options.show == "asm" else found.nir if options.show == "nir" else found.ir)
        return []
    wanted = expected(case, wave, None if case.model else Lavapipe())
    if options.engine == "nir":
        shader: Any = nir_after(case, target, wave, options.after)
        if options.show:
            from pyaco.nir.text import print_shader

            print(print_shader(shader))
        return differences(inputs, wanted, run_nir(shader, case, inputs, wave), options.limit)
    dumps = [options.show] if options.show and options.show != "asm" else []
    shader = pyaco.compile(
        case.spirv, target=target, wave=wave, spec=dict(case.spec), validate=not options.no_validate, dump_after=dumps
    )
    if options.show == "asm":
        print(shader.disassembly)
    for name, text in shader.dumps.items():
        print(f"--- {name}\n{text}")
    return differences(inputs, wanted, run_emulator(shader, case, inputs, options.emulator), options.limit)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="cases (all)")
    parser.add_argument("--target", action="append", help="gfx name; may be repeated (gfx1030 and gfx1100)")
    parser.add_argument("--wave", type=int, action="append", help="32 or 64; may be repeated (both)")
    parser.add_argument("--engine", choices=["emu", "nir", "radv"], default="emu")
    parser.add_argument("--emulator", default="reference", help="engine of the emulator")
    parser.add_argument("--after", help="with --engine nir: the last pass that runs, or 'read'")
    parser.add_argument("--show", help="print 'asm' or the IR after this pass")
    parser.add_argument("--limit", type=int, default=8, help="differing elements to print per buffer")
    parser.add_argument("--no-validate", action="store_true")
    parser.add_argument("--trace", action="store_true", help="print whole tracebacks")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in CASES]
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    wrong = total = 0
    for name in options.names or CASES:
        for target in options.target or ["gfx1030", "gfx1100"]:
            for wave in options.wave or [32, 64]:
                start = time.perf_counter()
                try:
                    lines = judge(CASES[name], target, wave, options)
                    verdict = "differs" if lines else "right"
                except Exception as error:
                    verdict, lines = "fails", [f"{type(error).__name__}: {str(error)[:400]}"]
                    if options.trace:
                        lines.append(traceback.format_exc())
                total += 1
                wrong += verdict != "right"
                seconds = time.perf_counter() - start
                print(f"{verdict:8} {name} {target} wave{wave} ({seconds:.2f} s)", *lines, sep="\n    ", flush=True)
    print(f"{total - wrong} of {total} right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
