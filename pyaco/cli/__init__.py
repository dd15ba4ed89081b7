"""The ``pyaco`` command: small verbs over the Python API, each a module.

Nothing stands between this and a verb: to import a module takes as long as 400 lines of a listing.

Exit status: 0, or 2 for bad input, 3 for what is not supported, 1 for a bug of ours.
"""

import os
import sys

from pyaco.cli.command_line import CommandLine
from pyaco.errors import InputError, PyacoError, UnsupportedError, is_of_long_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

__all__ = ["command", "main"]

# A verb is a module of this folder with `add_arguments(parser)` and `run(options) -> None`.
VERBS = {
    "compile": "compile a shader to machine code",
    "opt": "run passes on IR text",
    "run": "compile a shader and run it on the emulator",
    "asm": "assemble text to machine code",
    "disasm": "disassemble machine code",
    "cache": "list, verify or clear a folder of compiled shaders",
    "targets": "list targets, or say what one is and may use",
    "nir": "NIR's ALU opcodes: the table, or one opcode in full",
    "reg": "a register's fields, or a value's",
    "descriptor": "decode a descriptor",
    "pm4": "decode a command stream",
    "surface": "lay out a surface in memory, or list a format's DRM modifiers",
    "tile": "put texels (.npy, .png or raw) into tiled memory",
    "copy": "copy a texture between files (.png, .dds, .ktx2), tilings and formats, by shaders on the emulator",
    "detile": "take texels (.npy, .png or raw) out of tiled memory",
}


def _overview() -> "argparse.ArgumentParser":
    """The command line without a verb that it knows: help, the version, or an error."""
    import argparse

    from pyaco import __version__

    parser = argparse.ArgumentParser(prog="pyaco", description="GPU shaders to AMD machine code, and back to results.")
    parser.add_argument("--version", action="version", version=f"pyaco {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="COMMAND")
    for verb, text in VERBS.items():
        verbs.add_parser(verb, help=text, description=text)
    return parser


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run the command line and return the exit status."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    verb = words[0] if words else ""
    if verb not in VERBS:
        overview = _overview()
        overview.parse_args(words)
        overview.error("the command comes first")
    try:
        # only the verb that is chosen is loaded and says what it takes
        module = __import__(f"pyaco.cli.{verb}", fromlist=["run"])  # importlib takes longer to import than a verb
        command_line = CommandLine(f"pyaco {verb}", VERBS[verb])
        module.add_arguments(command_line)
        module.run(command_line.parse(words[1:]))
    except InputError as error:
        return _complain(error, 2)
    except UnsupportedError as error:
        return _complain(error, 3)
    except PyacoError as error:
        return _complain(error, 1)
    except ValueError as error:
        if not is_of_long_number(error):
            raise
        return _complain(InputError("a number of thousands of digits"), 2)
    except MemoryError as error:
        return _complain(InputError(f"not enough memory: {error}"), 2)
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        return 130  # as shells count an interrupt
    return 0


def command() -> int:
    """Run the command line as a process: what the ``pyaco`` script calls.

    To take the interpreter apart is a sixth of what Python takes to start and end. Who wants to be told of the end is a thread or has registered
    with ``atexit``; where neither is loaded, the process ends here, its output written.
    """
    status = main()
    if sys.modules.keys().isdisjoint(("atexit", "threading")):
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except (OSError, ValueError):
            return status  # Python tries again and says what is wrong
        os._exit(status)
    return status


def _complain(error: Exception, status: int) -> int:
    print(f"pyaco: {' '.join(str(error).split()) if status != 1 else error}", file=sys.stderr)
    return status

