"""What a user hands in as a shader: its kind, its bytes, its name for messages."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from pyaco.errors import InputError, UnsupportedError

__all__ = ["Source", "load"]

SPIRV_MAGIC = b"\x03\x02\x23\x07"
SPIRV_MAGICS = (SPIRV_MAGIC, SPIRV_MAGIC[::-1])
GLSL_SUFFIXES = {".comp", ".vert", ".frag", ".geom", ".tesc", ".tese", ".glsl"}


class Source(NamedTuple):
    """A shader as it came in: ``kind`` is ``spirv``, ``nir`` (text) or ``shader`` (a NIR shader already)."""

    kind: str
    data: Any
    name: str

    @property
    def text(self) -> str:
        """The bytes as text."""
        try:
            return str(self.data.decode())
        except UnicodeDecodeError as error:
            raise InputError(f"{self.name}: not text: {error}") from None


def load(source: str | Path | bytes | Any) -> Source:
    """Return the shader that `source` names or is.

    Raises
    ------
    InputError
        When the file cannot be read or is of no known kind.
    """
    # tuples: a union of types would be made anew by every call
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _from_bytes(bytes(source), "<bytes>")
    if not isinstance(source, (str, Path)):
        return Source("shader", source, "<shader>")
    path = Path(source)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:  # a name that no file has: with a zero byte
        raise InputError(f"{str(path)!r}: {error}") from None
    if path.suffix in GLSL_SUFFIXES:
        return Source("spirv", _compile_glsl(path), str(path))
    return _from_bytes(data, str(path))


def _from_bytes(data: bytes, name: str) -> Source:
    if data.startswith(SPIRV_MAGICS):
        return Source("spirv", data, name)
    if name.endswith(".spv"):
        raise InputError(f"{name}: not SPIR-V: the first word is not 0x07230203")
    if name.endswith(".nir") or data.lstrip().startswith((b"shader:", b"decl_", b"impl", b"source_")):
        return Source("nir", data, name)
    raise InputError(f"{name}: neither SPIR-V nor NIR text (SPIR-V starts with the word 0x07230203)")


def _compile_glsl(path: Path) -> bytes:
    """Compile GLSL with the compiler on the path."""
    compiler = shutil.which("glslangValidator") or shutil.which("glslang")
    if compiler is None:
        raise UnsupportedError(f"{path}: GLSL input needs glslangValidator on the path; hand in SPIR-V instead")
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "shader.spv"
        command = [compiler, "-V", "--target-env", "vulkan1.3", "-o", str(output), str(path)]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            raise InputError(f"{path}: {compiler} says:\n{result.stdout.strip()}")
        return output.read_bytes()
