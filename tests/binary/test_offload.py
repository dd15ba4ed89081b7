"""Bundles of code objects: what is in them, what is refused, for bundles made here."""

from __future__ import annotations

import hashlib
import random
import struct
import zlib

import pytest
from bundles import bundle_of

from pyaco.binary import CodeObject, assemble_code_object, offload_entries, read_code_object
from pyaco.errors import InputError, PyacoError, UnsupportedError
from pyaco.targets import TargetId

HEADERS = {1: "<IQ", 2: "<IIQ", 3: "<QQQ"}
HOST = "host-x86_64-unknown-linux-gnu-"


def code(target: str) -> bytes:
    source = "k:\ns_endpgm\n.amdhsa_kernel k\n.amdhsa_next_free_vgpr 1\n.amdhsa_next_free_sgpr 8\n{}.end_amdhsa_kernel\n"
    return assemble_code_object(source.format(".amdhsa_accum_offset 4\n" if target in ("gfx90a", "gfx942") else ""), target)


def compressed(contents: bytes, version: int, method: int = 0, *, payload: bytes | None = None, **changed: int) -> bytes:
    payload = zlib.compress(contents) if payload is None else payload
    total = 8 + struct.calcsize(HEADERS.get(version, "<QQQ")) + len(payload)
    digest = int.from_bytes(hashlib.md5(contents).digest()[:8], "little")
    fields = {"total": total, "size": len(contents), "digest": digest} | changed
    words = [fields["size"], fields["digest"]] if version == 1 else [fields["total"], fields["size"], fields["digest"]]
    return b"CCOB" + struct.pack("<HH", version, method) + struct.pack(HEADERS.get(version, "<QQQ"), *words) + payload


@pytest.fixture(scope="module")
def plain() -> bytes:
    return bundle_of({HOST: b"", "hipv4-amdgcn-amd-amdhsa--gfx1100": code("gfx1100"), "hip-amdgcn-amd-amdhsa-unknown-gfx90a": code("gfx90a"),
                   "openmp-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-": code("gfx942"), "hip-spirv64-amd-amdhsa--amdgcnspirv": b"SPIR-V"})  # fmt: skip


def test_entries(plain: bytes) -> None:
    wanted = [TargetId("gfx1100"), TargetId("gfx90a"), TargetId("gfx942", xnack=False, sramecc=True)]
    for data in (plain, *(compressed(plain, version) for version in HEADERS)):
        entries = offload_entries(data)
        assert [entry.target_id for entry in entries] == wanted
        assert [entry.data for entry in entries] == [code("gfx1100"), code("gfx90a"), code("gfx942")]
        assert read_code_object(data, "RX 7900 XTX").target == "gfx1100"
        with pytest.raises(InputError, match=r"no code for gfx1201: the offload bundle has gfx1100, gfx90a, gfx942:sramecc[+]:xnack-"):
            read_code_object(data, "gfx1201")


def test_zstandard(plain: bytes) -> None:
    zstandard = pytest.importorskip("zstandard")
    payload = zstandard.ZstdCompressor().compress(plain)
    for version in HEADERS:
        assert len(offload_entries(compressed(plain, version, 1, payload=payload))) == 3
    with pytest.raises(InputError, match="compressed offload bundle"):
        offload_entries(compressed(plain, 3, 1, payload=b"\x28\xb5\x2f\xfd" + bytes(40)))
    with pytest.raises(InputError, match="or more, where its header says 100"):
        offload_entries(compressed(plain, 3, 1, payload=payload, size=100))


def test_bundles_behind_one_another(plain: bytes) -> None:
    """As a linker joins the sections of several files: each at a multiple of 4096."""
    other = compressed(bundle_of({"hipv4-amdgcn-amd-amdhsa--gfx1100": code("gfx1100")}), 3)
    data = plain + bytes(-len(plain) % 4096) + other + bytes(-len(other) % 4096) + plain + bytes(100)
    assert [entry.target_id.processor for entry in offload_entries(data)] == ["gfx1100", "gfx90a", "gfx942", "gfx1100", "gfx1100", "gfx90a", "gfx942"]
    with pytest.raises(InputError, match="3 code objects for gfx1100, 3 of which fit; their kernels: k; k; k"):
        read_code_object(data, "gfx1100")
    with pytest.raises(InputError, match="3 code objects for gfx1100, 0 of which fit"):
        read_code_object(data, "gfx1100", "j")


def test_one_target_needs_no_choice() -> None:
    data = bundle_of({HOST: b"", "hipv4-amdgcn-amd-amdhsa--gfx1100": code("gfx1100")})
    assert isinstance(read_code_object(data), CodeObject)


def test_what_is_wrong_is_named(plain: bytes) -> None:
    wrong = {
        b"__CLANG_OFFLOAD_BUNDLE__": "within its header",
        plain[:100]: "within its header|of 100",
        plain + b"more": f"no offload bundle at byte {len(plain)}",
        compressed(plain, 3, digest=5): "its hash",
        compressed(plain, 3, size=1 << 40): "with contents of",
        compressed(plain, 3, size=len(plain) - 1): "where its header says",
        compressed(plain, 2, total=1 << 20): "of 1048576 bytes",
        compressed(plain, 2, payload=b"no zlib"): "compressed offload bundle",
        compressed(b"something else", 2): "its contents are no offload bundle",
        bundle_of({"hipv4-amdgcn-amd-amdhsa--gfx942:fast+": b""}): "no setting",
        b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 1 << 60): "entries",
    }  # fmt: skip
    for data, message in wrong.items():
        with pytest.raises(InputError, match=message):
            offload_entries(data)
    for data, message in ((compressed(plain, 4), "version 4"), (compressed(plain, 3, 9), "method 9"),
                          (bundle_of({"hip-amdgcn-amd-amdhsa--gfx942": b"BC\xc0\xde1234"}), "not linked yet")):  # fmt: skip
        with pytest.raises(UnsupportedError, match=message):
            offload_entries(data)


def test_broken_bundles_are_refused(plain: bytes) -> None:
    generator = random.Random(11)
    outcomes = {"read": 0, "refused": 0}
    for data in (plain, compressed(plain, 3)):
        for _ in range(300):
            broken = bytearray(data)
            for _ in range(generator.choice((1, 3))):
                broken[generator.randrange(300)] = generator.randrange(256)
            try:
                read_code_object(bytes(broken), "gfx1100")
                outcomes["read"] += 1
            except PyacoError:
                outcomes["refused"] += 1
    assert outcomes["read"] > 20 and outcomes["refused"] > 20
