"""What is made of the sources of public projects: which of their files are compute shaders, and how each project compiles them.

A recipe takes the folder of a project's sources and yields a `Shader` for each module that it has: GLSL or HLSL with the flags, definitions
and folders of includes that the project's own build gives it, SPIR-V text, or a module that the project ships. ``fetch_corpus.py`` has
the table of projects, and does the work.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

#: Bindings and locations are given to what declares none.
MAPPED = ("--amb", "--aml")
HLSL = ("-D", "-e", "main")


@dataclass(frozen=True)
class Shader:
    """One module to be made.

    Attributes
    ----------
    name : str
        Of the module's file, without ``.spv``.
    kind : str
        ``glsl`` (or HLSL, which the flags say), ``spvasm`` or ``spv``.
    path : Path
        The file that has it.
    text : str or None
        The source, where it is not all of the file.
    flags : tuple of str
        For ``glslangValidator``.
    defines, includes : tuple
        Macros (``NAME=VALUE``) and folders.
    environment : str
        What the module is for, as ``--target-env`` takes it.
    fallback : tuple of str
        Flags to try where these are refused.
    """

    name: str
    kind: str
    path: Path
    text: str | None = None
    flags: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    includes: tuple[Path, ...] = ()
    environment: str = "vulkan1.3"
    fallback: tuple[str, ...] = ()


Recipe = Callable[[Path], Iterator[Shader]]


def flat(path: Path, folder: Path) -> str:
    """A file's path as one name."""
    return str(path.relative_to(folder)).replace("/", "__")


def assembled(folder: Path, prefix: str = "") -> Iterator[Shader]:
    """Yield the text modules that have an entry point for compute."""
    for path in sorted(folder.rglob("*.spvasm")):
        if "OpEntryPoint GLCompute" in path.read_text(errors="replace"):
            yield Shader(prefix + flat(path, folder), "spvasm", path)


def shipped(folder: Path) -> Iterator[Shader]:
    """Yield the modules that a project ships, as SPIR-V and as its text."""
    for path in sorted(folder.rglob("*.spv")):
        yield Shader(flat(path, folder).removesuffix(".spv"), "spv", path)
    yield from assembled(folder)


def plain(folder: Path, includes: tuple[Path, ...] = (), prefix: str = "") -> Iterator[Shader]:
    """Yield each ``.comp`` file, which finds includes beside itself."""
    for path in sorted(folder.rglob("*.comp")):
        yield Shader(prefix + flat(path, folder), "glsl", path, includes=(path.parent, *includes))


def samples(folder: Path) -> Iterator[Shader]:
    """Shipped modules, and GLSL and HLSL beside them."""
    yield from shipped(folder)
    yield from plain(folder, prefix="glsl_")
    for path in sorted(folder.rglob("*.hlsl")):
        if "comp" in path.name:
            yield Shader("hlsl_" + flat(path, folder), "glsl", path, flags=HLSL)


def tint(folder: Path) -> Iterator[Shader]:
    """Expected SPIR-V of Tint's tests; files that hold several modules, which ``spirv-as`` refuses, fall out."""
    yield from assembled(folder / "test/tint")
    for path in sorted((folder / "test/tint").rglob("*.spv")):
        yield Shader(flat(path, folder / "test/tint"), "spv", path)


def naga(folder: Path) -> Iterator[Shader]:
    """Snapshots of naga's tests."""
    for path in sorted(folder.rglob("*.spvasm")):
        if "OpEntryPoint GLCompute" in path.read_text(errors="replace"):
            yield Shader(path.name, "spvasm", path)
    for path in sorted(folder.rglob("*.spv")):
        yield Shader(path.stem, "spv", path)
    for path in sorted(folder.rglob("*.comp")):
        yield Shader(path.name, "glsl", path)


def slangmosh(folder: Path, includes: tuple[Path, ...] = ()) -> Iterator[Shader]:
    """All variants of the compute shaders that a ``slangmosh.json`` lists (Granite's build)."""
    for listing in sorted(folder.rglob("slangmosh*.json")):
        for shader in json.loads(listing.read_text())["shaders"]:
            if not (shader.get("compute") or shader["path"].endswith(".comp")):
                continue
            choices = [[f"{each['define']}={value}" for value in range(each["count"])] for each in shader.get("variants", [])]
            for chosen in itertools.product(*choices):
                name = "_".join([shader["name"], *chosen]).replace("=", "_")
                yield Shader(name, "glsl", listing.parent / shader["path"], defines=chosen, includes=(listing.parent, *includes))


def parallel_gs(folder: Path) -> Iterator[Shader]:
    """With Granite's headers, which stand beside it."""
    yield from slangmosh(folder, (folder.parent / "Granite/assets/shaders/inc",))


def granite(folder: Path) -> Iterator[Shader]:
    """Granite's assets and tests."""
    yield from plain(folder, (folder / "assets/shaders", folder / "assets/shaders/inc"))


def niagara(folder: Path) -> Iterator[Shader]:
    """Its compute shaders."""
    for path in sorted(folder.rglob("*.comp.glsl")):
        yield Shader(path.name, "glsl", path, includes=(path.parent,))


def kompute(folder: Path) -> Iterator[Shader]:
    """Its examples and operators."""
    for path in sorted(folder.rglob("*.comp")):
        yield Shader(flat(path, folder), "glsl", path, flags=HLSL if "hlsl" in str(path) else ())


def vkd3d_proton(folder: Path) -> Iterator[Shader]:
    """Its own shaders, also with each macro that they test, and the HLSL of its tests that glslang takes."""
    yield from plain(folder)
    for path in sorted((folder / "libs").rglob("*.comp")):
        macros = set(re.findall(r"^#\s*(?:ifdef|if defined\(|ifndef)\s*(\w+)", path.read_text(), re.MULTILINE))
        for macro in sorted(macros):
            yield Shader(f"{path.name}_{macro}", "glsl", path, defines=(f"{macro}=1",), includes=(path.parent,))
    shifts = ("--shift-UAV-binding", "32", "--shift-cbuffer-binding", "64", "--shift-sampler-binding", "96")
    for path in sorted((folder / "tests/shaders").rglob("*.hlsl")):
        if ".cs_" in path.name or path.name.startswith("cs_"):
            yield Shader("hlsl_" + path.name, "glsl", path, flags=(*HLSL, *MAPPED, *shifts))


def uvkcompute(folder: Path) -> Iterator[Shader]:
    """All permutations that its ``CMakeLists.txt`` files list."""
    for listing in sorted(folder.rglob("CMakeLists.txt")):
        for body in re.findall(r"uvkc_glsl_shader_(?:permutation|instance)\(([^)]*)\)", listing.read_text()):
            yield from _permutations(listing.parent, body)


def _permutations(folder: Path, body: str) -> Iterator[Shader]:
    source, name = re.search(r'SRC\s+"([^"]+)"', body), re.search(r"NAME\s+(\S+)", body)
    if source is None or name is None:
        return
    chosen = re.search(r'(?:PERMUTATION|INSTANCE|DEFINES)\s+((?:"[^"]*"\s*)+)', body)
    arguments = re.search(r'GLSLC_ARGS\s+((?:"[^"]*"\s*)+)', body)
    always = tuple(re.findall(r'"-D([^"]+)"', arguments[1])) if arguments else ()
    choices = []
    for text in re.findall(r'"([^"]*)"', chosen[1] if chosen else ""):
        macro, _, values = text.partition("=")
        choices.append([f"{macro}={value}" for value in values.strip("[]").split("|")])
    for combination in itertools.product(*choices):
        # "{A,B}={1,2}" defines both
        defines = [part for each in combination for part in _each_macro(each)]
        yield Shader("_".join([name[1], *combination]), "glsl", folder / source[1], defines=(*defines, *always))


def _each_macro(text: str) -> list[str]:
    macro, _, value = text.partition("=")
    if not macro.startswith("{"):
        return [text]
    return [f"{a}={b}" for a, b in zip(macro.strip("{}").split(","), value.strip("{}").split(","), strict=True)]


def piglit(folder: Path) -> Iterator[Shader]:
    """The compute section of each ``.shader_test``, generated ones too."""
    base = next((found.parent for found in folder.rglob("generated_tests") if found.is_dir()), folder)
    for path in sorted(base.rglob("*.shader_test")):
        whole = path.read_text(errors="replace")
        found = re.search(r"^\[compute shader( spirv)?\]\n(.*?)(?=^\[\w)", whole + "\n[end]\n", re.MULTILINE | re.DOTALL)
        if not found:
            continue
        if found[1]:
            yield Shader(path.stem, "spvasm", path, text=found[2])
            continue
        text = found[2]
        if "#version" not in text:
            version = re.search(r"GLSL\s*(ES)?\s*>=\s*([\d.]+)( es)?", whole)
            number = version[2].replace(".", "") if version else "430"
            text = f"#version {number}{' es' if version and (version[1] or version[3]) else ''}\n{text}"
        name = flat(path, base).removesuffix(".shader_test").replace("execution__built-in-functions__", "")
        newest = "310" if " es" in text.split("\n")[0] else "450"
        yield Shader(name, "glsl", path, text=text, flags=("-R", *MAPPED, "--glsl-version", newest))


def glslang(folder: Path) -> Iterator[Shader]:
    """GLSL and HLSL of glslang's own tests: for Vulkan, or as OpenGL's where that is refused."""
    base = next(folder.rglob("Test"))
    for path in sorted(base.rglob("*")):
        name = path.name
        if not path.is_file() or name.endswith(".out"):
            continue
        if name.startswith("hlsl") and name.endswith(".comp"):
            text = path.read_text(errors="replace")
            entry = re.search(r"void\s+(\w+)\s*\([^)]*SV_", text) or re.search(r"numthreads[^\n]*\]\s*\n?\s*\w+\s+(\w+)", text)
            yield Shader(name, "glsl", path, flags=("-D", "-e", entry[1] if entry else "main", *MAPPED), includes=(path.parent,))
        elif name.endswith(".comp") or (".comp." in name and "hlsl" not in name):
            yield Shader(flat(path, base), "glsl", path, flags=MAPPED, includes=(path.parent,), fallback=("-R", *MAPPED, "--glsl-version", "450"))


def spirv_cross(folder: Path) -> Iterator[Shader]:
    """GLSL and SPIR-V text of SPIRV-Cross's tests."""
    base = next(path.parent for path in folder.rglob("shaders-msl"))
    for path in sorted(base.rglob("*.comp")):
        name = flat(path, base)
        if name.startswith("reference"):
            continue
        if ".asm." in path.name:
            yield Shader(name, "spvasm", path)
        else:
            newer = ".spv1" in path.name or "vk." in path.name
            yield Shader(name, "glsl", path, flags=MAPPED, environment="vulkan1.3" if newer else "vulkan1.1")
