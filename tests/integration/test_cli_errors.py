"""Commands and what they cannot read, write or find: one line on standard error, a status, never a traceback."""

from __future__ import annotations

import os
import random
import signal
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy
import pytest

from pyaco import isa
from pyaco.cli import VERBS, main
from pyaco.pm4 import packet
from pyaco.texture_files import Texture, TextureShape, write_dds, write_ktx2

ROOT = Path(__file__).parents[2]
KERNEL = ".amdhsa_kernel k\n.amdhsa_next_free_vgpr 1\n.amdhsa_next_free_sgpr 8\n.end_amdhsa_kernel\nk:\ns_endpgm\n"
#: By verb: a good command line. What has a dot is a file, what follows -o is written.
COMMANDS = {
    "compile": "compile matmul.spv --target gfx1100 -o shader.bin",
    "compile, json": "compile matmul.spv --emit json -o shader.json",
    "opt": "opt matmul.spv --passes dce --target gfx1100 -o passes.nir",
    "run": "run matmul.spv --target gfx1100 --groups 1 --buffer 0.0=a.npy --buffer 0.1=a.npy --buffer 0.2=zeros:1024 --push sizes.bin "
           "--save 0.2=c.npy",
    "run, code object": "run kernel.hsaco --grid 64",
    "asm": "asm kernel.s --target gfx1100 -o kernel.out",
    "asm, code object": "asm kernel.s --target gfx1100 -o object.hsaco",
    "disasm": "disasm code.bin --target gfx1100 -o listing.s",
    "disasm, code object": "disasm kernel.hsaco -o listing.s",
    "cache": "cache entries --verify",
    "targets": "targets gfx1100",
    "nir": "nir ops fadd",
    "reg": "reg COMPUTE_PGM_RSRC1 0x60af0040 --target gfx1100",
    "descriptor": "descriptor buffer 0 0 100 31016fac --target gfx1030",
    "pm4": "pm4 stream.bin --target gfx1100 -o packets.txt",
    "pm4, memory": "pm4 stream.bin --target gfx1100 --memory 0x100000=code.bin --html -o packets.html",
    "surface": "surface gfx1030 64x32",
    "tile": "tile gfx1030 64x32 texels.npy -o tiled.bin",
    "copy": "copy gfx1030 picture.png -o copied.dds",
    "copy, containers": "copy gfx1030 texture.dds -o copied.ktx2",
    "copy, raw": "copy gfx1030 texture.ktx2 -o copied.bin",
    "copy, from raw": "copy gfx1030 memory.bin --size 64x32 -o copied.png",
    "detile": "detile gfx1030 64x32 memory.bin -o texels.png",
    "detile, array": "detile gfx1030 64x32 memory.bin -o out.npy",
}
OUTPUTS = ("shader.bin", "shader.json", "passes.nir", "c.npy", "kernel.out", "object.hsaco", "listing.s", "packets.txt", "packets.html",
           "tiled.bin", "texels.png", "out.npy", "copied.dds", "copied.ktx2", "copied.bin", "copied.png")  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the commands read."""
    monkeypatch.chdir(tmp_path)
    Path("matmul.spv").write_bytes((ROOT / "examples" / "matmul.spv").read_bytes())
    Path("kernel.s").write_text(KERNEL)
    Path("code.bin").write_bytes(isa.assemble("s_endpgm", "gfx1100"))
    assert main(["asm", "kernel.s", "--target", "gfx1100", "-o", "kernel.hsaco"]) == 0
    numpy.save("a.npy", numpy.ones((16, 16), numpy.float32))
    numpy.array([16, 16, 16], numpy.uint32).tofile("sizes.bin")
    numpy.save("texels.npy", numpy.zeros((32, 64, 4), numpy.uint8))
    numpy.zeros(1 << 16, numpy.uint8).tofile("memory.bin")
    numpy.array(packet("DISPATCH_DIRECT", 1, 1, 1, 1, compute=True), numpy.uint32).tofile("stream.bin")
    Path("entries").mkdir()
    texture = Texture(TextureShape("R8G8B8A8_UNORM", 8, 4), (bytes(range(128)),))
    Path("texture.dds").write_bytes(write_dds(texture))
    Path("texture.ktx2").write_bytes(write_ktx2(texture))
    assert main(["copy", "gfx1030", "texture.dds", "-o", "picture.png"]) == 0
    for suffix in {path.suffix for path in tmp_path.iterdir() if path.is_file()}:
        Path(f"garbage{suffix}").write_bytes(random.Random(1).randbytes(4097))
        Path(f"text{suffix}").write_text("what is this?\n" * 9)
        Path(f"empty{suffix}").touch()
        Path(f"directory{suffix}").mkdir()
    return tmp_path


def complaint(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> str:
    """What is wrong with the way a command ends that cannot succeed; statuses are those of the README."""
    capfd.readouterr()
    try:
        status = main(arguments)
    except SystemExit as stop:
        status = int(stop.code or 0)
    except BaseException as error:
        return f"{' '.join(arguments)}: {type(error).__name__}: {error}"
    said = capfd.readouterr().err.splitlines()
    if status not in (1, 2, 3) or not said or (len(said) != 1 and not said[0].startswith("usage:")):
        return f"{' '.join(arguments)}: status {status}, {len(said)} lines: {said[:2]}"
    return ""


def replaced(word: str, file: str, other: str) -> str:
    return other if word == file else word.replace(f"={file}", f"={other}")


@pytest.mark.parametrize("name", COMMANDS)
def test_inputs_that_cannot_be_read(name: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = COMMANDS[name].split()
    files = {word.split("=")[-1] for word in words if (folder / word.split("=")[-1]).is_file()}
    assert main(words) == 0
    wrong = []
    for file in sorted(files):
        suffix = Path(file).suffix
        # bytes of .bin are bytes, whatever they are; an empty source is one without instructions, and no bytes are no code object
        contents = {".bin": (), ".s": ("garbage", "text")}.get(suffix, ("garbage", "text", *(("empty",) if words[0] != "disasm" else ())))
        for other in ("missing", "directory", "missing/file", *contents):
            wrong.append(complaint([replaced(word, file, other + suffix) for word in words], capfd))
    assert not [line for line in wrong if line]


@pytest.mark.parametrize("name", COMMANDS)
def test_outputs_that_cannot_be_written(name: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = COMMANDS[name].split()
    wrong = []
    for file in {word.split("=")[-1] for word in words} & set(OUTPUTS):
        suffix = Path(file).suffix
        (folder / f"folder{suffix}").mkdir()
        (folder / f"full{suffix}").symlink_to("/dev/full")
        for other in (f"missing/file{suffix}", f"folder{suffix}", f"full{suffix}"):
            wrong.append(complaint([replaced(word, file, other) for word in words], capfd))
    assert not [line for line in wrong if line]


#: A number which Python reads, and refuses to spell in decimal digits.
_LONG = "0x" + "f" * 5000
LONG_NUMBERS = (
    f"reg COMPUTE_PGM_RSRC1 {_LONG}", f"reg COMPUTE_PGM_RSRC1 VGPRS={_LONG}", f"descriptor buffer {_LONG} 0 0 0",
    f"surface gfx1030 8x8 --modifier {_LONG}", f"surface gfx1030 8x8 --swizzle-mode {_LONG}", f"pm4 stream.bin --memory {_LONG}=code.bin",
    "pm4 stream.bin --memory -4=code.bin", f"compile matmul.spv --spec {_LONG}=1", f"compile matmul.spv --spec 0={_LONG}",
    f"run kernel.hsaco --grid 64 --arg {_LONG}",
)  # fmt: skip


@pytest.mark.parametrize("words", LONG_NUMBERS, ids=lambda words: words.replace(_LONG, "N").replace(" ", "_"))
def test_numbers_beyond_all_bounds(words: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert not complaint(words.split(), capfd)


@pytest.mark.parametrize("name", COMMANDS)
def test_words_that_are_wrong(name: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = COMMANDS[name].split()
    wrong = []
    for place, word in enumerate(words):
        if place and not word.startswith("-") and not (folder / word).exists() and word not in OUTPUTS and "=" not in word:
            wrong += [complaint([*words[:place], bad, *words[place + 1 :]], capfd) for bad in ("nonsense", "-1", "\u00e9\udcff")]
    wrong += [complaint([*words, *more], capfd) for more in (["--nonsense"], ["--target", "gfx9999"], ["--target", ""])]
    assert not [line for line in wrong if line]


def test_a_target_that_contradicts_the_code_object(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = COMMANDS["run, code object"].split()
    assert main([*words, "--target", "navi31"]) == 0
    assert main([*words, "--target", "gfx1030"]) == 2
    assert "kernel.hsaco is for gfx1100" in capfd.readouterr().err


CONTRADICTIONS = [
    ("run matmul.spv --grid 64", "--grid: matmul.spv is no code object"),
    ("run matmul.spv --workgroup 64", "--workgroup: matmul.spv is no code object"),
    ("run kernel.hsaco --grid 64 --groups 1", "--groups: kernel.hsaco is a code object"),
    ("run kernel.hsaco --grid 64 --push sizes.bin", "--push: kernel.hsaco is a code object"),
    ("run matmul.spv --groups=", "--groups : expected X,Y,Z"),
    ("run matmul.spv --groups 1 --budget -1", "pyaco: a budget of -1 wave instructions"),
    ("compile matmul.spv --stop-after cse --emit elf", "--stop-after and --emit elf: text takes the place of code"),
    ("compile matmul.spv --explain-pressure --json", "--explain-pressure and --emit json"),
    ("compile matmul.spv --print-passes --emit bin", "--print-passes and --emit bin"),
    ("opt matmul.spv --workgroup-size 64", "--workgroup-size: matmul.spv says itself"),
    ("descriptor types sampler", "'sampler': all types are listed"),
    ("surface gfx1030 64x64 --linear --swizzle-mode 64KB_R_X", "--linear and --swizzle-mode: one of them"),
    ("detile gfx1030 64x32 memory.bin -o out.npy --swizzle-mode 5 --modifier 0", "--swizzle-mode and --modifier: one of them"),
    ("surface gfx1030 64x64 --cube --layers 3", "a cube has six faces"),
    ("surface gfx1030 64x64 --modifier=", "'' is not a number"),
    ("targets --memory", "of which chip"),
    ("targets gfx1030 --vgprs 32", "--vgprs describes the kernel of --occupancy"),
    ("targets gfx1030 --wave 32", "--wave describes the kernel of --occupancy"),
    ("targets gfx1030 --numbering mesa17", "--numbering"),
    ("run matmul.spv --groups 1 --timeline 5", "--timeline says how much --chrome-trace shows"),
    ("copy gfx1030 memory.bin -o out.bin --size 64x32 --format=", "''"),
    ("copy gfx1030 picture.png -o out.png --format=", "''"),
    ("copy gfx1030 memory.bin -o out.bin --size 64x32 --to-format=", "''"),
]


@pytest.mark.parametrize(("words", "message"), CONTRADICTIONS)
def test_options_that_would_do_nothing_are_refused(words: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("line", "message"), [("s1: %1 = s_mov_b32 0", "a temp is defined twice"),
                                               ("s2: %2 = p_parallelcopy %1", "a copy must not change the size")])  # fmt: skip
def test_what_is_wrong_with_a_text_is_no_fault_of_a_pass(line: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = "BB0\n/* logical preds: / linear preds: / kind: uniform, top-level, */\n\t s1: %1 = s_mov_b32 0\n"
    Path("program.aco").write_text(f"{start}\t {line}\n\ts_endpgm\n")
    assert main(["opt", "program.aco", "--passes", "value_numbering", "--validate"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", ["spill", "register_allocation"])
def test_passes_that_need_ssa_say_so(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = "BB0\n/* logical preds: / linear preds: / kind: uniform, top-level, */\n\t s1: %1 = s_mov_b32 0\n"
    Path("program.aco").write_text(f"{start}\t s1: %1 = s_mov_b32 0\n\ts_endpgm\n")
    assert main(["opt", "program.aco", "--passes", name, "--workgroup-size", "64"]) == 2
    assert f"the pass '{name}' needs 'ssa'" in capsys.readouterr().err


@pytest.mark.parametrize("header", [b"{'descr': '<f4', 'shape': (", b"\0(", b"{'descr': '<f4', 'fortran_order': False, 'shape': (1 << 59,)}",
                                    b"{'descr': '<f4', 'fortran_order': False, 'shape': (576460752303423488,)}",
                                    b"{'descr': '<f4', 'fortran_order': False, 'shape': (-18446744073709551616, 1)}"])  # fmt: skip
def test_arrays_whose_header_is_damaged(header: bytes, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = header.ljust(117) + b"\n"
    Path("damaged.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64))
    assert not complaint(["tile", "gfx1030", "64x32", "damaged.npy", "-o", "tiled.bin"], capfd)


@pytest.mark.parametrize(("kind", "content"), [(b"IHDR", bytes(5)), (b"IHDR", b"\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x06\0\0\0"), (b"tRNS", b"")])
def test_pictures_whose_chunks_are_damaged(kind: bytes, content: bytes, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    size = struct.pack(">IIBBBBB", 64, 32, 8, 3, 0, 0, 0)
    header = [(b"IHDR", size), (b"PLTE", bytes(3))] if kind != b"IHDR" else []
    chunks = [*header, (kind, content), (b"IDAT", zlib.compress(bytes(65 * 32))), (b"pHYs", b"1")]
    data = b"".join(struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks)
    Path("damaged.png").write_bytes(b"\x89PNG\r\n\x1a\n" + data)
    assert not complaint(["tile", "gfx1030", "64x32", "damaged.png", "-o", "tiled.bin"], capfd)


def test_more_memory_than_there_is(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert not complaint(["tile", "gfx600", "16384x16384x8192", "texels.npy", "-o", "tiled.bin"], capfd)
    assert not complaint(["run", "matmul.spv", "--buffer", f"0.0=zeros:{1 << 62}"], capfd)


def test_every_verb_is_tried() -> None:
    assert {line.split()[0] for line in COMMANDS.values()} == VERBS.keys()


def start(arguments: list[str], **options: object) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}
    return subprocess.Popen([sys.executable, "-m", "pyaco", *arguments], stderr=subprocess.PIPE, env=environment, **options)  # type: ignore[call-overload]


@pytest.mark.parametrize("command", ["pm4 long.bin --target gfx1100", "disasm zeros.bin --target gfx1100", "targets",
                                     "reg COMPUTE_PGM_RSRC1 0x60af0040"])
def test_a_reader_that_goes_away_is_no_error(command: str, folder: Path) -> None:
    numpy.array(packet("NOP", 0) * 20000, numpy.uint32).tofile("long.bin")
    Path("zeros.bin").write_bytes(bytes(1 << 20))
    read, write = os.pipe()
    os.close(read)
    process = start(command.split(), stdout=write)
    os.close(write)
    assert process.communicate(timeout=60)[1] == b"" and process.returncode == 0


@pytest.mark.parametrize(("redirection", "words"), [(">&-", "output is closed"), ("<&-", "input is closed")])
def test_a_stream_that_is_closed_is_an_error(redirection: str, words: str, folder: Path) -> None:
    line = f"'{sys.executable}' -m pyaco disasm {'-' if '<' in redirection else 'code.bin'} {redirection}"
    result = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert (result.returncode, result.stderr) == (2, f"pyaco: standard {words}\n")


def test_a_device_is_written_to_and_never_replaced(folder: Path) -> None:
    os.mkfifo("pipe")
    process = start(["disasm", "code.bin", "--target", "gfx1100", "-o", "pipe"])
    assert "s_endpgm" in Path("pipe").read_text()
    assert process.wait(60) == 0 and not Path("pipe").is_file()


def test_a_full_disk_is_an_error(folder: Path) -> None:
    with open("/dev/full", "wb") as full:
        process = start(["disasm", "code.bin", "--target", "gfx1100"], stdout=full)
        lines = process.communicate(timeout=60)[1].splitlines()
    assert process.returncode == 2 and len(lines) == 1 and b"No space left" in lines[0]


def processor_seconds(process: int) -> float:
    """CPU time of a process so far (proc(5))."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_is_quiet(folder: Path) -> None:
    Path("endless.s").write_text(KERNEL.replace("s_endpgm", "again:\ns_branch again"))
    assert main(["asm", "endless.s", "--target", "gfx1100", "-o", "endless.hsaco"]) == 0
    # what is started in the background of a shell ignores interrupts, and so would what it starts
    process = start(["run", "endless.hsaco", "--grid", "64"], stdout=subprocess.PIPE, preexec_fn=heed_interrupts)
    try:
        while processor_seconds(process.pid) < 2:  # it has started by then
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[1] == b"" and process.returncode == 130
    finally:
        process.kill()


def test_a_cache_that_takes_no_entries_is_noted_in_a_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("closed").mkdir()
    Path("closed/shaders").symlink_to("/proc/nowhere")
    assert main(["compile", "matmul.spv", "--cache", "closed/shaders", "-o", "code.txt"]) == 0
    said = capsys.readouterr().err
    assert said.startswith("pyaco: warning: the cache closed/shaders takes no entries: ") and said.count("\n") == 1
