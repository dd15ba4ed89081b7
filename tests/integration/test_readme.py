"""README: the table of what works is what works, and its commands run."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import pyaco
from pyaco import meta
from pyaco.addrlib import gpu_config
from pyaco.addrlib.driver.queries import compute_surface, surface_addresses
from pyaco.addrlib.driver.records import SurfaceRequest
from pyaco.cli import VERBS, main
from pyaco.descriptors.buffer import buffer_descriptor
from pyaco.descriptors.decode import decode
from pyaco.descriptors.image import ImageView, image_descriptor
from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.emu import SampledImage
from pyaco.pm4 import DispatchStream, packet

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
MATMUL = ROOT / "examples" / "matmul.spv"


def table() -> list[tuple[str, str, str]]:
    """Return (feature, target, answer) of every cell."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in README.splitlines() if line.startswith("|")]
    targets = rows[0][1:]
    return [(row[0], target, answer) for row in rows[2 : 2 + len(CHECKS)] for target, answer in zip(targets, row[1:], strict=True)]


def product(target: str, wave: int) -> bool:
    """Compile and run the example for a target; whether the result is right."""
    shader = pyaco.compile(MATMUL, target=target, wave=wave, validate=True)
    device = pyaco.emu.Device(target)
    a, b = numpy.random.default_rng(0).standard_normal((2, 16, 16), dtype=numpy.float32)
    buffers = {(0, i): device.buffer(x) for i, x in enumerate((a, b, numpy.zeros_like(a)))}
    push = numpy.array([16, 16, 16], numpy.uint32).tobytes()
    device.dispatch(shader, groups=(1, 1, 1), buffers=buffers, push=push)
    result = buffers[0, 2].numpy().view(numpy.float32).reshape(16, 16)
    return bool(numpy.abs(result - a @ b).max() < 1e-4)


def round_trip(target: str) -> bool:
    """Whether text assembles to what disassembles to the same code."""
    code = pyaco.isa.assemble("v_add_f32 v0, v1, v2\ns_endpgm", target)
    return pyaco.isa.assemble(pyaco.isa.disassemble(code, target), target) == code


def test_targets_beyond_the_table() -> None:
    """What README says of targets beyond those of its table."""
    sentence = re.search(r"The compiler and the emulator also support.*?;\s+surfaces", README, re.S)
    assert sentence
    targets = re.findall(r"gfx\d+", sentence[0])
    assert len(targets) >= 6
    assert all(round_trip(target) for target in targets)


def lays_out(target: str) -> bool:
    """Whether no two texels of a surface share an address."""
    config = gpu_config(CONFIGS[target])
    surface = compute_surface(config, SurfaceRequest(width=64, height=32, bpe=4))
    y, x = numpy.mgrid[0:32, 0:64]
    return len(numpy.unique(surface_addresses(config, surface, 0, x, y))) == 64 * 32


def describes(target: str) -> bool:
    """Whether descriptors decode to what was asked."""
    level = pyaco.targets.chip(target).level
    config = gpu_config(CONFIGS[target])
    surface = compute_surface(config, SurfaceRequest(width=64, height=32, bpe=4))
    image = image_descriptor(config, surface, ImageView(1 << 20, "R8G8B8A8_UNORM", 64, 32, 0 if level >= 90 else 1, 9))
    height = decode("image", image, level)[2].fields["HEIGHT"]
    stride = decode("buffer", buffer_descriptor(0, 1, "R32_FLOAT", level, stride=12), level)[1].fields["STRIDE"]
    last = decode("sampler", sampler_descriptor(Sampler(max_lod=3.0), level), level)[1].fields["MAX_LOD"]
    return (height, stride, last) == (31, 12, 768)


def submits(target: str) -> bool:
    """Whether a stream runs the example."""
    shader = pyaco.compile(MATMUL, target=target)
    device = pyaco.emu.Device(target)
    buffers = {(0, i): device.buffer(numpy.ones((16, 16), numpy.float32)) for i in range(3)}
    push = numpy.array([16, 16, 16], numpy.uint32).tobytes()
    with DispatchStream(device, shader, (1, 1, 1), buffers, push) as stream:
        device.submit(stream.words)
    return bool((buffers[0, 2].numpy() == 16).all())


def samples(target: str) -> bool:
    """Whether the example's blur makes a binomial distribution of one bright texel."""
    device = pyaco.emu.Device(target)
    source, blurred = device.image(format="R8G8B8A8_UNORM", width=16, height=16), device.image(format="R16G16B16A16_FLOAT", width=16, height=16)
    texels = source.numpy()
    texels[8, 8] = 255
    source.write(texels)
    buffers: dict[tuple[int, int], Any] = {(0, 0): SampledImage(source, Sampler((2, 2, 2), 1, 1)), (0, 1): blurred.view(storage=True)}
    shader = pyaco.compile(ROOT / "examples/blur.spv", target=target)
    device.dispatch(shader, (2, 2, 1), buffers, numpy.array([1, 0], numpy.int32).tobytes())
    row = blurred.numpy().view(numpy.float16).reshape(16, 16, 4)[8, :, 0].astype(float)
    return bool(abs(row.sum() - 1) < 0.01 and row.argmax() == 8 and (numpy.diff(row[4:9]) > 0).all() and numpy.allclose(row[4:9], row[12:7:-1]))


def copies(target: str) -> bool:
    """Whether a level that was averaged and copied through shaders is NumPy's average."""
    device = pyaco.emu.Device(target)
    image = device.image(format="R32_FLOAT", width=16, height=16, mips=2)
    texels = numpy.random.default_rng(1).random((16, 16), numpy.float32)
    image.write(texels.reshape(image.numpy().shape))
    meta.generate_mipmaps(device, image)
    buffer = device.zeros(8 * 8 * 4)
    meta.copy_image_to_buffer(device, image, buffer, [meta.BufferImageCopy(subresource=meta.SubresourceLayers(1))])
    found = buffer.numpy().view(numpy.float32).reshape(8, 8)
    return numpy.allclose(found, texels.reshape(8, 2, 8, 2).mean((1, 3)), rtol=1e-6)


CONFIGS = {
    "gfx700": "kaveri", "gfx900": "vega10", "gfx1010": "navi10", "gfx1030": "navi21", "gfx1100": "navi31", "gfx1150": "gfx1150",
    "gfx1200": "gfx1200",
}  # fmt: skip
CHECKS = {
    "assemble, disassemble": round_trip,
    "compile compute shaders, wave64": lambda target: product(target, 64),
    "compile compute shaders, wave32": lambda target: product(target, 32),
    "run on the emulator": lambda target: product(target, 64),
    "images and samplers in compiled shaders": samples,
    "copies, blits, clears and mip chains of images": copies,
    "surface layout (addrlib)": lays_out,
    "image, buffer and sampler descriptors": describes,
    "dispatch through a command stream": submits,
}


@pytest.mark.parametrize(("feature", "target", "answer"), table())
def test_table(feature: str, target: str, answer: str) -> None:
    if answer == "yes":
        assert CHECKS[feature](target)
    else:
        with pytest.raises(pyaco.UnsupportedError):
            CHECKS[feature](target)


@pytest.mark.parametrize("target", ["", *CONFIGS])
def test_the_python_example_runs(target: str) -> None:
    """As it is written, and for each chip of the table."""
    code = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]
    code = re.sub(r"\bgfx\d+\b", target, code) if target else code
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stderr
    assert "[64. 64." in result.stdout


KERNEL = """
.amdhsa_kernel twice
  .amdhsa_next_free_vgpr 1
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 4
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: twice
    .symbol: twice.kd
    .kernarg_segment_size: 24
    .args:
      - .size: 8
        .offset: 0
        .value_kind: global_buffer
      - .size: 8
        .offset: 8
        .value_kind: global_buffer
      - .size: 4
        .offset: 16
        .value_kind: by_value
.end_amdgpu_metadata
twice:
  s_endpgm
"""


def commands() -> list[list[str]]:
    """The command lines of the README; what they do may stand behind them, two spaces or more away."""
    block = re.sub(r"\\\n +", "", re.findall(r"```\n(pyaco.*?)```", README, re.DOTALL)[0])
    return [shlex.split(command)[1:] for command in re.findall(r"pyaco (?:\S| \S)+", block)]


#: A swizzle mode of 2D images for the chips of the table; up to GFX9 the driver lets nobody choose.
SWIZZLE_MODES = {
    "gfx700": "", "gfx900": "", "gfx1010": "64KB_R_X", "gfx1030": "64KB_R_X", "gfx1100": "64KB_R_X", "gfx1150": "64KB_R_X", "gfx1200": "64KB_2D",
}  # fmt: skip


def for_target(arguments: list[str], target: str) -> list[str]:
    """The command line for another chip: its name, its swizzle modes, and no waves that it lacks."""
    if any(word.endswith(".hsaco") for word in arguments):
        return arguments                                        # of CDNA
    mode = SWIZZLE_MODES[target]
    line = re.sub(r"\bgfx\d+\b|RX \d+ XTX?", target, "\n".join(arguments))
    line = re.sub(r"64KB_\w+", mode, line) if mode else re.sub(r",swizzle=\w+|\n--(to-)?swizzle-mode\n\w+", "", line)
    found = (line.replace("\n--wave\n32", "") if target in ("gfx700", "gfx900") else line).split("\n")
    return [*found, "--target", target] if found[0] == "run" and "--target" not in found else found


@pytest.mark.parametrize("target", ["", *SWIZZLE_MODES])
def test_the_commands_run(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """As they are written, and for each chip of the table."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", "examples")
    for name in ("a", "b", "x"):
        numpy.save(name, numpy.ones((64, 64), numpy.float32))
    numpy.array([64, 64, 64], numpy.uint32).tofile("sizes.bin")
    numpy.array([1, 0], numpy.uint32).tofile("right.bin")
    numpy.zeros(1 << 24, numpy.uint8).tofile("memory.bin")
    numpy.array(packet("DISPATCH_DIRECT", 1, 1, 1, 1, compute=True), numpy.uint32).tofile("stream.bin")
    Path("code.bin").write_bytes(pyaco.isa.assemble("s_endpgm", "gfx1100"))
    Path("kernel.s").write_text("s_endpgm")
    Path("twice.s").write_text(KERNEL)
    assert main(["asm", "twice.s", "--target", "gfx942", "-o", "kernel.hsaco"]) == 0
    wanted = commands()
    assert {arguments[0] for arguments in wanted} == VERBS.keys() - {"tile"}
    for arguments in wanted:
        if "..." in arguments:
            arguments[2:3] = wanted[2][2:wanted[2].index("--save")]
        arguments = for_target(arguments, target) if target else arguments
        assert main(arguments) == 0, (arguments, capfd.readouterr().err)
    assert Path("picture.png").stat().st_size and Path("y.npy").stat().st_size and "<html" in Path("stream.html").read_text().lower()
