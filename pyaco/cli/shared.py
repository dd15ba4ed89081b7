"""Arguments and file handling that several verbs share."""

import os
import sys

from pyaco.cli.command_line import CommandLine, Options
from pyaco.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any

    from typing_extensions import Buffer

    from pyaco.compiler import CompiledShader

__all__ = [
    "add_cache_argument", "add_compile_arguments", "compile_cached", "is_code_object", "may_be_of_radv", "read_bytes", "specializations",
    "write_bytes", "write_text",
]  # fmt: skip


def add_compile_arguments(parser: CommandLine, target: str | None = "gfx1100") -> None:
    """Add what every verb that compiles a shader takes."""
    parser.add_argument("input", metavar="IN", help="SPIR-V (.spv), NIR text (.nir) or GLSL (.comp)")
    parser.add_argument("--target", default=target, help="gfx name, chip name or product name")
    parser.add_argument("--stage", default="compute", help="pipeline stage")
    parser.add_argument("--entry", help="entry point; needed when the module has several")
    parser.add_argument("--wave", type=int, choices=(32, 64), help="lanes per wave (32 for workgroups of up to 32 invocations where there are "
                        "such waves, else 64)")
    parser.add_argument("--wgp-mode", action="store_true", help="a workgroup may run on both compute units of a pair (GFX10 and later), as RADV's")
    parser.add_argument("--spec", nargs="+", action="extend", default=[], metavar="ID=VALUE", help="specialization constants; may be repeated")
    parser.add_argument("--int64", default="hardware", metavar="OPTIONS",
                        help="64-bit integers in 32-bit halves: hardware (what chips lack), all, or options such as iadd64+shift64")
    parser.add_argument("--fp64", default="hardware", metavar="OPTIONS",
                        help="doubles: hardware (what chips lack is lowered), lowered (all but sums, products, comparison), software (integer "
                        "arithmetic), or options such as dfloor+dmod")
    parser.add_argument("--validate", action="store_true", help="run the validators after every pass")


def add_cache_argument(parser: CommandLine) -> None:
    """Add the folder of compiled shaders."""
    parser.add_argument("--cache", metavar="DIR", default=os.environ.get("PYACO_CACHE") or None,
                        help="keep compiled shaders in this folder (PYACO_CACHE; without either nothing is kept)")


def compile_cached(options: Options, target: str, **choices: "Any") -> "CompiledShader":
    """Compile what the options name, through the cache that they name."""
    import warnings

    from pyaco.compute_pipeline import Pipeline, PipelineCache

    with warnings.catch_warnings(record=True) as noted:       # of a folder that takes no entries
        made = Pipeline(
            options.input, target, stage=options.stage, entry=options.entry, wave=options.wave, specialization=specializations(options.spec),
            int64=options.int64, fp64=options.fp64, wgp_mode=options.wgp_mode, cache=PipelineCache(options.cache), **choices,
        )  # fmt: skip
    for warning in noted:
        print(f"pyaco: warning: {warning.message}", file=sys.stderr)
    return made.shader


def specializations(words: list[str]) -> dict[int, int | float | bool]:
    """Parse ``ID=VALUE`` words: integers in any base, floats, true and false."""
    result: dict[int, int | float | bool] = {}
    for word in words:
        name, separator, value = word.partition("=")
        try:
            result[int(name, 0)] = _number(value)
        except ValueError:
            separator = ""
        if not separator:
            raise InputError(f"--spec {word}: expected ID=VALUE, for example 0=64 or 3=1.5")
    return result


def _number(text: str) -> int | float | bool:
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text, 0)
    except ValueError:
        return float(text)


def read_bytes(path: str) -> bytes:
    """Return the contents of a file, ``-`` for standard input."""
    try:
        if path == "-":
            if sys.stdin is None:
                raise InputError("standard input is closed")
            return sys.stdin.buffer.read()
        with open(path, "rb", buffering=0) as file:
            return file.readall()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def is_code_object(data: bytes) -> bool:
    """Whether a file begins as a code object, or as one of those that hold code objects."""
    return data.startswith((b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"))


def may_be_of_radv(data: bytes) -> bool:
    """Whether a file begins as a Vulkan pipeline cache, or with the type of RADV's binaries and says its own size; ``pyaco.binary.radv`` knows for
    certain, and takes ten times as long to load as machine code that begins with zeros takes to print."""
    if data.startswith(bytes(4)):
        return (len(data) & 0xFFFFFFFF).to_bytes(4, "little") in data
    return data.startswith(b"\x20\0\0\0\1\0\0\0\x02\x10\0\0")


def write_bytes(path: str | None, data: "Buffer") -> None:
    """Write a whole file at once, or standard output; a failure leaves an old file as it was."""
    if path in (None, "-"):
        if sys.stdout is None:
            raise InputError("standard output is closed")
        _write_stream(sys.stdout, "standard output", data)
        return
    target = os.path.realpath(str(path))
    if os.path.exists(target) and not os.path.isfile(target):  # a device or a pipe is written to, never replaced
        try:
            with open(target, "wb", buffering=0) as stream:
                _write_stream(stream, str(path), data)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from None
        return
    draft = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{os.getpid()}")
    try:
        with open(draft, "xb") as file:
            file.write(data)
        os.replace(draft, target)
    except OSError as error:
        if os.path.exists(draft):
            os.unlink(draft)
        raise InputError(f"{path}: {error.strerror or error}") from None


def _write_stream(stream: "IO[Any]", name: str, data: "Buffer") -> None:
    try:
        stream.flush()  # text that waits comes before bytes, which do not pass through it
        below = getattr(stream, "buffer", stream)
        below.write(data)
        below.flush()
    except OSError as error:
        if stream is sys.stdout:
            _abandon_output()
        if isinstance(error, BrokenPipeError):
            raise
        raise InputError(f"{name}: {error.strerror or error}") from None


def _abandon_output() -> None:
    """Send nowhere what standard output still has in its buffer: Python writes it once more as it exits, and would fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def write_text(path: str | None, text: str) -> None:
    """Write text that ends with a newline."""
    write_bytes(path, (text if text.endswith("\n") else text + "\n").encode())
