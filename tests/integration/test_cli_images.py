"""``pyaco run`` with images, samplers and texel buffers."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from pyaco.cli import main
from pyaco.texture_files import read_dds, read_ktx2

pytestmark = pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslangValidator is not installed")

HEAD = "#version 450\nlayout(local_size_x = 8, local_size_y = 8) in;\n"
#: By name: each invocation's result goes to a storage image or buffer.
SHADERS = {
    "halve": HEAD + """layout(binding=0) uniform sampler2D picture;
layout(binding=1, rgba8) uniform writeonly image2D result;
void main() { ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    imageStore(result, at, textureLod(picture, (vec2(at) + 0.5) / vec2(imageSize(result)), 1.0)); }
""",
    "separate": HEAD + """layout(binding=0) uniform texture2D picture;
layout(binding=1) uniform sampler how;
layout(binding=2) buffer Out { vec4 result[64]; };
void main() { uvec2 i = gl_LocalInvocationID.xy;
    result[i.y * 8 + i.x] = textureLod(sampler2D(picture, how), vec2(i) / 4.0 - 0.4375, 0.0); }
""",
    "volume": HEAD + """layout(binding=0, r32f) uniform image3D volume;
void main() { ivec3 at = ivec3(gl_LocalInvocationID.xy, 2);
    imageStore(volume, at, imageLoad(volume, at) + float(at.x + 10 * at.y)); }
""",
    "layers": HEAD + """layout(binding=0) uniform usampler2DArray layers;
layout(binding=1) buffer Out { uint result[64]; };
void main() { ivec2 at = ivec2(gl_LocalInvocationID.xy);
    result[at.y * 8 + at.x] = texelFetch(layers, ivec3(at, 1), 0).x + uint(textureQueryLevels(layers)) * 1000; }
""",
    "texels": HEAD + """layout(binding=0) uniform samplerBuffer given;
layout(binding=1, r32ui) uniform uimageBuffer result;
void main() { int i = int(gl_LocalInvocationIndex); imageStore(result, i, uvec4(texelFetch(given, i).y * 255)); }
""",
    "shadow": HEAD + """layout(binding=0) uniform sampler2DShadow depth;
layout(binding=1) buffer Out { float result[64]; };
void main() { vec2 at = vec2(gl_LocalInvocationID.xy); result[gl_LocalInvocationIndex] = textureLod(depth, vec3((at + 0.5) / 8, 0.5), 0.0); }
""",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, source in SHADERS.items():
        (tmp_path / f"{name}.comp").write_text(source)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def picture(path: str, size: int = 16) -> np.ndarray:
    Image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(1).integers(0, 256, (size, size, 4), np.uint8)
    Image.fromarray(pixels, "RGBA").save(path)
    return pixels


@pytest.mark.parametrize("target", ["gfx600", "gfx700", "gfx900", "gfx1030", "gfx1200"])
def test_mips_of_a_picture(folder: Path, target: str) -> None:
    pixels = picture("in.png").astype(float)
    save = [word for name in ("out.png", "out.dds", "out.ktx2", "out.npy") for word in ("--save", f"0.1={name}")]
    assert main(["run", "halve.comp", "--target", target, "--image", "0.0=in.png,mips", "--image", "0.1=zeros:rgba8:8x8", *save]) == 0
    wanted = pixels.reshape(8, 2, 8, 2, 4).mean((1, 3))
    found = np.load("out.npy").astype(float)
    assert np.abs(found - wanted).max() <= 1.01
    from PIL import Image
    np.testing.assert_array_equal(np.asarray(Image.open("out.png")), np.load("out.npy"))
    for read, name in ((read_dds, "out.dds"), (read_ktx2, "out.ktx2")):
        texture = read((folder / name).read_bytes())
        assert (texture.shape.width, texture.shape.format) == (8, "R8G8B8A8_UNORM")
        assert texture.levels[0] == np.load("out.npy").tobytes()


def test_files_and_swizzle_modes(folder: Path) -> None:
    picture("in.png")
    assert main(["copy", "gfx1030", "in.png", "-o", "chain.dds", "--mips"]) == 0
    assert main(["copy", "gfx1030", "in.png", "-o", "chain.ktx2", "--mips"]) == 0
    found = []
    for source in ("in.png,mips", "chain.dds", "chain.ktx2", "chain.dds,swizzle=64KB_S", "chain.dds,linear", "in.png,mips,swizzle=64KB_R_X"):
        words = ["run", "halve.comp", "--target", "gfx1030", "--image", f"0.0={source}", "--image", "0.1=zeros:rgba8:8x8,swizzle=4KB_S",
                 "--save", "0.1=out.npy"]  # fmt: skip
        assert main(words) == 0
        found.append(np.load("out.npy"))
    assert found[0].any()
    assert all((other == found[0]).all() for other in found)


@pytest.mark.parametrize(("chip", "mode", "named"), [
    ("gfx1030", "64KB_2D", "64KB_R_X"), ("gfx1200", "64KB_R_X", "64KB_2D"), ("gfx1100", "0x1g", "64KB_D"),
])  # fmt: skip
def test_swizzle_modes_of_other_generations(chip: str, mode: str, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The error names those that there are; numbers may be hexadecimal."""
    assert main(["surface", chip, "64x64", "--swizzle-mode", mode]) == 2
    said = capsys.readouterr().err
    assert f"no swizzle mode {mode!r}" in said and f" {named}" in said
    assert main(["surface", chip, "64x64", "--swizzle-mode", "0x3" if chip == "gfx1200" else "0x1b"]) == 0


@pytest.mark.parametrize(("words", "row"), [
    ("filter=nearest", [2, 3, 0, 1, 2, 3, 0, 1]), ("filter=nearest,address=clamp", [0, 0, 0, 1, 2, 3, 3, 3]),
    ("filter=nearest,address=mirror/clamp/clamp", [1, 0, 0, 1, 2, 3, 3, 2]), ("filter=nearest,address=border,border=white", [9, 9, 0, 1, 2, 3, 9, 9]),
    ("filter=nearest,address=border", [-1, -1, 0, 1, 2, 3, -1, -1]), ("", None), ("filter=nearest,address=mirror-clamp", [1, 0, 0, 1, 2, 3, 3, 3]),
])  # fmt: skip
def test_separate_samplers(folder: Path, words: str, row: list[int] | None) -> None:
    texels = np.zeros((4, 4, 4), np.float32)
    texels[..., 0] = np.arange(4) * 10
    texels[..., 3] = 1
    np.save("in.npy", texels)
    given = ["--sampler", f"0.1={words}"] if words else []
    coordinates = (np.arange(8) / 4 - 0.4375) * 4
    assert main(["run", "separate.comp", "--image", "0.0=in.npy", *given, "--buffer", "0.2=zeros:1024", "--save", "0.2=out.bin"]) == 0
    found = np.fromfile("out.bin", np.float32).reshape(8, 8, 4)[3]
    if row is None:                                        # linear, repeated
        low = np.floor(coordinates - 0.5).astype(int)
        part = coordinates - 0.5 - low
        np.testing.assert_allclose(found[:, 0], texels[0, low % 4, 0] * (1 - part) + texels[0, (low + 1) % 4, 0] * part, atol=0.1)
        return
    wanted = [{9: 1.0, -1: 0.0}.get(k, 10.0 * k) for k in row]
    np.testing.assert_array_equal(found[:, 0], wanted)


def test_volumes_keep_their_type(folder: Path) -> None:
    volume = np.random.default_rng(2).uniform(0, 1, (4, 8, 8)).astype(np.float32)
    np.save("in.npy", volume)
    assert main(["run", "volume.comp", "--image", "0.0=in.npy,3d", "--save", "0.0=out.npy"]) == 0
    wanted = volume.copy()
    wanted[2] += np.arange(8) + 10 * np.arange(8)[:, None]
    np.testing.assert_array_equal(np.load("out.npy"), wanted)
    assert main(["run", "volume.comp", "--image", "0.0=zeros:R32_FLOAT:8x8x4", "--save", "0.0=zeros.npy"]) == 0
    assert np.load("zeros.npy").shape == (4, 8, 8)
    assert np.load("zeros.npy")[2, 7, 7] == 77


def test_layers(folder: Path) -> None:
    layers = np.random.default_rng(3).integers(0, 900, (3, 8, 8), np.uint32)
    np.save("in.npy", layers)
    words = ["--image", "0.0=in.npy,layers=3,mips=2", "--buffer", "0.1=zeros:256", "--save", "0.1=out.bin"]
    assert main(["run", "layers.comp", "--target", "gfx900", *words]) == 0
    np.testing.assert_array_equal(np.fromfile("out.bin", np.uint32).reshape(8, 8), layers[1] + 2000)


def test_texel_buffers(folder: Path) -> None:
    given = np.random.default_rng(4).integers(0, 256, (64, 4), np.uint8)
    np.save("in.npy", given)
    words = ["--texel-buffer", "0.0=in.npy,format=rgba8", "--texel-buffer", "0.1=zeros:256,format=R32_UINT", "--save", "0.1=out.bin"]
    assert main(["run", "texels.comp", *words]) == 0
    np.testing.assert_array_equal(np.fromfile("out.bin", np.uint32), given[:, 1])


def test_comparisons(folder: Path) -> None:
    depth = np.random.default_rng(5).uniform(0, 1, (8, 8)).astype(np.float32)
    np.save("in.npy", depth)
    for words, wanted in (("compare=less,filter=nearest", depth > 0.5), ("compare=greater-equal,filter=nearest", depth <= 0.5)):
        assert main(["run", "shadow.comp", "--image", "0.0=in.npy,format=Z32_FLOAT", "--sampler", f"0.0={words}", "--buffer", "0.1=zeros:256",
                     "--save", "0.1=out.bin"]) == 0  # fmt: skip
        np.testing.assert_array_equal(np.fromfile("out.bin", np.float32).reshape(8, 8), wanted)


@pytest.mark.parametrize(("words", "message"), [
    (["--image", "0.0"], "--image 0.0: expected SET.BINDING"), (["--image", "0.0=missing.png"], "--image 0.0=missing.png: missing.png"),
    (["--image", "0.0=zeros:rgba8"], "zeros:FORMAT:WxH"), (["--image", "0.0=zeros:rgba8:4"], "--image 0.0=zeros:rgba8:4: size '4'"),
    (["--image", "0.0=zeros:nothing:4x4"], "nothing"), (["--image", "0.0=zeros:rgba8:4x4,mips=x"], "mips=x"),
    (["--image", "0.0=zeros:rgba8:4x4,mips=9"], "--image 0.0=zeros:rgba8:4x4,mips=9"), (["--image", "0.0=a.npy"], "a.npy"),
    (["--image", "0.0=flat.npy"], "shape (3,)"), (["--image", "0.0=wide.npy"], "say format=F"), (["--image", "0.0=x.bin"], "expected a file .png"),
    (["--image", "0.0=plain.npy,format=rgba8"], "32 bits"), (["--image", "0.0=zeros:rgba8:4x4,view=4d"], "4d"),
    (["--image", "0.0=zeros:rgba8:4x4,swizzle=99"], "swizzle=99"), (["--image", "0.0=zeros:rgba8:4x4,cube,cube"], "cube is said twice"),
    (["--sampler", "0.0=sharp"], "--sampler 0.0=sharp: 'sharp'"), (["--sampler", "0.0=filter=cubic"], "filter=cubic: expected one of nearest"),
    (["--sampler", "0.0=anisotropy=17"], "anisotropy=17"), (["--sampler", "0.0=bias=x"], "bias=x: expected a number"),
    (["--sampler", "0.0=address=repeat/clamp"], "three for x, y and z"), (["--sampler", "0.1=mip=none"], "binding 1 of set 0 is a storage_image"),
    (["--texel-buffer", "0.0=x.npy"], "is a combined_image_sampler"), (["--texel-buffer", "0.5=zeros:4"], "say format=F"),
    (["--save", "0.1=x.png"], "no --buffer, --image or --texel-buffer"),
    (["--image", "0.0=zeros:rgba8:4x4", "--image", "0.1=zeros:rgba8:4x4,layers=2", "--save", "0.1=x.png"], "one slice or layer"),
])  # fmt: skip
def test_errors(folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    np.save("flat.npy", np.zeros(3, np.uint8))
    np.save("wide.npy", np.zeros((4, 4, 7), np.uint8))
    np.save("plain.npy", np.zeros((4, 4), np.uint8))
    assert main(["run", "halve.comp", *words]) == 2
    assert message in capsys.readouterr().err


def test_code_objects_have_no_images(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "k.s").write_text(".amdhsa_kernel k\n.amdhsa_next_free_vgpr 1\n.amdhsa_next_free_sgpr 8\n.end_amdhsa_kernel\nk:\ns_endpgm\n")
    assert main(["asm", "k.s", "--target", "gfx1100", "-o", "k.hsaco"]) == 0
    assert main(["run", "k.hsaco", "--grid", "64", "--sampler", "0.0=mip=none"]) == 2
    assert "--sampler" in capsys.readouterr().err
