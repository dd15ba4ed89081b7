"""Fetch public compute shaders and compile them to SPIR-V: the corpus of ``bench/bench_corpus.py`` and of the sweeps.

``python tools/fetch_corpus.py`` clones each project at a pinned commit (without history, only the folders that matter) or unpacks Debian's
archive of it, makes every compute shader with the flags of the project's own build, and writes the modules into
``build/corpus/spv/PROJECT/NAME.spv``: some five thousand of sixteen projects. What is there already is not fetched again. Modules that are equal but
for their header are kept once for each project. ``--from FOLDER`` takes the sources of a project from ``FOLDER/PROJECT`` where that exists, and
fetches nothing else with ``--offline``. Nothing of the corpus is part of this repository; each project has its own licence.

Needs git, glslangValidator (12 or newer), spirv-as; and dpkg-deb for piglit, whose package is 100 MB and 2.1 GB when unpacked.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass, replace
from pathlib import Path

import corpus_recipes as recipes
import numpy as np
from corpus_recipes import Recipe, Shader

ROOT = Path(__file__).resolve().parents[1]
#: Projects whose headers another one includes.
NEEDS = {"parallel-gs": "Granite"}
OP_ENTRY_POINT, OP_FUNCTION, GL_COMPUTE = 15, 54, 5


@dataclass(frozen=True)
class Repository:
    """A commit of a public git repository, and the folders of it that have shaders (all without)."""

    url: str
    commit: str
    folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class Archive:
    """A file of Debian's archive: a source archive or a package."""

    path: str
    sha256: str


def github(name: str, commit: str, *folders: str) -> Repository:
    """A repository of GitHub."""
    return Repository(f"https://github.com/{name}", commit, folders)


#: Where each project's sources are, and what is made of them.
PROJECTS: dict[str, tuple[Repository | Archive, Recipe]] = {
    "Granite": (github("Themaister/Granite", "7c59ad8089c0e009a804c282ccc3bdfdb110efae", "assets", "tests", "renderer", "video", "vulkan"),
                recipes.granite),
    "Vulkan": (github("SaschaWillems/Vulkan", "9c8e787f96af0ea3a22791d8f70edb96246efe6c", "shaders"), recipes.samples),
    "Vulkan-Samples": (github("KhronosGroup/Vulkan-Samples", "e2e4cf2386734a62115c8008dac44a6bb6868792", "shaders"), recipes.samples),
    "dawn": (github("google/dawn", "1e975e28f98a0285e44150a7f64b3bb89f27c719", "test/tint"), recipes.tint),
    "dxvk": (github("doitsujin/dxvk", "c935e6914223b59ca8609a6e1e19e618130cc337", "src"), recipes.plain),
    "glslang": (Archive("g/glslang/glslang_12.0.0.orig.tar.gz", "7cb45842ec1d4b6ea775d624c3d2d8ba9450aa416b0482b0cc7e4fdd399c3d75"), recipes.glslang),
    "kompute": (github("KomputeProject/kompute", "61af4bc2057e850a735b68d2fd46170648e80496"), recipes.kompute),
    "niagara": (github("zeux/niagara", "95f289b7b8c04dc0b904571b60e7fdc15962116c", "src"), recipes.niagara),
    "parallel-gs": (github("Arntzen-Software/parallel-gs", "00c1c0faebf448775eabcfcaded38c0134c8f401"), recipes.parallel_gs),
    "parallel-rdp": (github("Themaister/parallel-rdp", "1cecd042b2619bc505c12bfdc713808386f2b54d"), recipes.slangmosh),
    "piglit": (Archive("p/piglit/piglit_0~git20220119-124bca3c9-1_amd64.deb", "37dd651ae04419602b4287ea590fca1f5bcaabc0ea4bf32fe48ffe86b946c986"),
               recipes.piglit),
    "spirv-cross": (Archive("s/spirv-cross/spirv-cross_2021.01.15+1.3.239.0.orig.tar.gz",
                            "be1267736db2960a44a89875f680e015062e6f172ff6996633a882b93a088cf3"), recipes.spirv_cross),
    "uVkCompute": (github("google/uVkCompute", "d1a01d49f39ddd8f673d15f83ebe8b65cd826a75", "benchmarks"), recipes.uvkcompute),
    "vk_cooperative_matrix_perf": (github("jeffbolznv/vk_cooperative_matrix_perf", "cc3f225f90f98d1dae5c1c9ac07b339ada2a029a", "shaders"),
                                   recipes.shipped),
    "vkd3d-proton": (github("HansKristian-Work/vkd3d-proton", "d01924b6f02fa3f78e3d371269267355363dbcb7", "libs", "tests"), recipes.vkd3d_proton),
    "wgpu": (github("gfx-rs/wgpu", "64a61ee5c69569bbb3db03563997e88a229eba17", "naga/tests", "examples", "wgpu-hal", "player/tests"), recipes.naga),
}


# ------------------------------------------------------------------------------------------------------------------ sources
def clone(repository: Repository, folder: Path) -> None:
    """Check a commit out, without history and without the folders that are not asked for."""
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(folder), *words], check=True)

    folder.mkdir(parents=True)
    git("init", "--quiet")
    git("remote", "add", "origin", repository.url)
    if repository.folders:
        git("sparse-checkout", "set", *repository.folders)
    git("fetch", "--quiet", "--depth", "1", "--filter=blob:none", "origin", repository.commit)
    git("checkout", "--quiet", "FETCH_HEAD")


def mirrors() -> list[str]:
    """The Debian archives that the machine's apt knows."""
    if shutil.which("apt-get") is None:
        raise SystemExit("apt-get is needed for what comes from Debian's archive; or give the sources by --from")
    command = ["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages"]
    return sorted(set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()))


def download(path: str, target: Path) -> None:
    """Copy a file of Debian's archive from the first mirror that has it."""
    for mirror in mirrors():
        try:
            with urllib.request.urlopen(f"{mirror}/pool/main/{path.replace('+', '%2B')}") as source, target.open("wb") as file:
                shutil.copyfileobj(source, file)
        except urllib.error.URLError:
            continue
        return
    raise SystemExit(f"{path}: no archive in the sources of apt has it")


def unpack(archive: Archive, folder: Path) -> None:
    """Download a file of Debian's archive, check it, and unpack it."""
    with tempfile.TemporaryDirectory() as temporary:
        packed = Path(temporary) / Path(archive.path).name
        download(archive.path, packed)
        with packed.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != archive.sha256:
            raise SystemExit(f"{archive.path}: the SHA-256 is {found}, not {archive.sha256}")
        folder.mkdir(parents=True)
        if packed.suffix == ".deb":
            subprocess.run(["dpkg-deb", "-x", str(packed), str(folder)], check=True)
        else:
            with tarfile.open(packed) as opened:
                opened.extractall(folder, filter="data")


def sources_of(project: str, given: Path | None, kept: Path, offline: bool) -> Path | None:
    """The folder with a project's sources, fetched if it has to be; None where that is not allowed."""
    if given and (given / project).is_dir():
        return given / project
    folder = kept / project
    if folder.is_dir():
        return folder
    if offline:
        return None
    origin = PROJECTS[project][0]
    partial = folder.with_name(project + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    if isinstance(origin, Repository):
        clone(origin, partial)
    else:
        unpack(origin, partial)
    partial.rename(folder)
    return folder


# ------------------------------------------------------------------------------------------------------------------ modules
def has_compute_entry(module: bytes) -> bool:
    """Whether a module is SPIR-V, and declares an entry point for compute."""
    words = np.frombuffer(module[: len(module) // 4 * 4], np.uint32).tolist()
    place = 5
    while place < len(words) and words[0] == 0x07230203:
        length, opcode = words[place] >> 16, words[place] & 0xFFFF
        if opcode == OP_ENTRY_POINT and words[place + 1] == GL_COMPUTE:
            return True
        if length == 0 or opcode == OP_FUNCTION:
            break
        place += length
    return False


def make(shader: Shader, folder: Path) -> tuple[bytes, str]:
    """The module of a shader, or nothing and what the tool complained of."""
    if shader.kind == "spv":
        return shader.path.read_bytes(), ""
    output = folder / "module.spv"
    output.unlink(missing_ok=True)
    command = _assembler(shader, folder, output) if shader.kind == "spvasm" else _compiler(shader, folder, output)
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode or not output.exists():
        if shader.fallback:
            return make(replace(shader, flags=shader.fallback, fallback=()), folder)
        said = [line for line in (done.stdout + done.stderr).splitlines() if "error" in line.lower()]
        return b"", said[0] if said else f"exit status {done.returncode}"
    return output.read_bytes(), ""


def _assembler(shader: Shader, folder: Path, output: Path) -> list[str]:
    text = shader.text if shader.text is not None else shader.path.read_text(errors="replace")
    version = re.search(r"; Version: (1\.\d)", text)
    source = folder / "module.spvasm"
    source.write_text(text)
    return ["spirv-as", "--target-env", f"spv{version[1] if version else '1.3'}", "-o", str(output), str(source)]


def _compiler(shader: Shader, folder: Path, output: Path) -> list[str]:
    """The command line of glslangValidator; GLSL that includes files gets the extension for that, and a version if it has none."""
    path, text = shader.path, shader.text
    if shader.includes and "-D" not in shader.flags:
        text = path.read_text(errors="replace")
        if "#version" not in text:
            text = "#version 460\n" + text
        text = re.sub(r"(#version[^\n]*\n)", r"\1#extension GL_GOOGLE_include_directive : require\n", text, count=1)
    if text is not None:
        path = folder / "shader.comp"
        path.write_text(text)
    return ["glslangValidator", "-V", "--target-env", shader.environment, "-S", "comp", *(f"-D{each}" for each in shader.defines),
            *(f"-I{each}" for each in shader.includes), *shader.flags, "-o", str(output), str(path)]  # fmt: skip


def build(project: str, sources: Path, target: Path) -> tuple[collections.Counter[str], list[str]]:
    """Make a project's modules; return the counts of what became of them, and the complaints."""
    counts: collections.Counter[str] = collections.Counter()
    complaints, seen = [], set()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        for shader in PROJECTS[project][1](sources):
            module, said = make(shader, Path(folder))
            digest = hashlib.sha256(module[20:]).digest()
            outcome = ("refused" if not module else "without compute" if not has_compute_entry(module)
                       else "equal to another" if digest in seen else "kept")  # fmt: skip
            counts[outcome] += 1
            if outcome == "refused":
                complaints.append(f"{project}/{shader.name}: {said}")
            elif outcome == "kept":
                seen.add(digest)
                name = re.sub(r"[^A-Za-z0-9_.+-]", "_", shader.name)[-200:]
                (target / f"{name}.spv").write_bytes(module)
    return counts, complaints


def main() -> int:
    """Fetch, make, and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--project", action="append", choices=sorted(PROJECTS), metavar="NAME", help=", ".join(sorted(PROJECTS)))
    parser.add_argument("--output", type=Path, default=ROOT / "build/corpus", help="folder for sources (src) and modules (spv)")
    parser.add_argument("--from", dest="given", type=Path, metavar="FOLDER", help="sources that are here already, by project")
    parser.add_argument("--offline", action="store_true", help="leave projects out whose sources are not here")
    options = parser.parse_args()
    missing = [tool for tool in ("git", "glslangValidator", "spirv-as") if shutil.which(tool) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}", file=sys.stderr)
        return 2
    total: collections.Counter[str] = collections.Counter()
    refused = options.output / "refused.txt"
    options.output.mkdir(parents=True, exist_ok=True)
    with refused.open("w") as file:
        for project in options.project or PROJECTS:
            if project in NEEDS:
                sources_of(NEEDS[project], options.given, options.output / "src", options.offline)
            sources = sources_of(project, options.given, options.output / "src", options.offline)
            if sources is None:
                print(f"{project:28} no sources", flush=True)
                continue
            counts, complaints = build(project, sources, options.output / "spv" / project)
            file.writelines(line + "\n" for line in complaints)
            total += counts
            print(f"{project:28} {_counted(counts)}", flush=True)
    print(f"{'all':28} {_counted(total)}\nmodules: {options.output / 'spv'}; what was refused, and why: {refused}")
    return 0


def _counted(counts: collections.Counter[str]) -> str:
    return ", ".join(f"{counts[name]} {name}" for name in ("kept", "equal to another", "without compute", "refused") if counts[name])


if __name__ == "__main__":
    sys.exit(main())
