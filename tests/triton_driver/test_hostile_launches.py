"""Launches that must not work: each ends with an error that says what is wrong, the process lives, and the next launch is right."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from numpy.typing import NDArray

from pyaco.emu import MemoryFault
from pyaco.errors import InputError, UnsupportedError

pytest.importorskip("triton", reason="Triton is not installed")
import driver_kernels as kernels

from pyaco import triton as emulated
from pyaco.triton import Array


@pytest.fixture(params=["gfx942", "gfx1201"], autouse=True)
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    with emulated.activate(request.param):
        yield request.param
        add(single(), single())


def single(count: int = 64) -> NDArray[numpy.float32]:
    return numpy.ones(count, numpy.float32)


def add(x: Any, y: Any, grid: Any = (1,), count: Any = 64) -> None:
    out = numpy.zeros(64, numpy.float32)
    kernels.add[grid](x, y, out, count, BLOCK=64)
    numpy.testing.assert_array_equal(out, 2)


@pytest.mark.parametrize("dtype", [object, complex, "M8[s]", "U4", "V8", ">f4", ">i8", numpy.longdouble, [("a", "f4"), ("b", "f4")]], ids=str)
def test_elements_that_kernels_do_not_know(dtype: Any) -> None:
    array = numpy.zeros(64, dtype)
    if array.dtype == numpy.float64:
        pytest.skip("a long double is a double here")
    with pytest.raises(InputError, match=r"expected booleans, integers or floats of up to 64 bits"):
        add(array, single())


def test_references_of_python_are_not_overwritten() -> None:
    with pytest.raises(InputError, match="references of Python"):
        Array(numpy.array([object()] * 64), "int64")


@pytest.mark.parametrize("grid", [(1.5,), ("1",), (1, None)])
def test_grids_that_are_no_integers(grid: Any) -> None:
    with pytest.raises(InputError, match="expected integers"):
        add(single(), single(), grid)


@pytest.mark.parametrize("count", [1 << 33, 1 << 70])
def test_grids_beyond_hardware(count: int) -> None:
    with pytest.raises(InputError, match="expected counts"):
        add(single(), single(), (count,))


@pytest.mark.parametrize("count", [0, -1, -(1 << 31)])
def test_grids_of_nothing(count: int) -> None:
    out = numpy.zeros(64, numpy.float32)
    kernels.add[(count,)](single(), single(), out, 64, BLOCK=64)
    assert not out.any()


def test_accesses_beside_an_array() -> None:
    with pytest.raises(MemoryFault, match="right behind the end"):
        kernels.add[(4,)](single(), single(), numpy.zeros(64, numpy.float32), 256, BLOCK=64)
    with pytest.raises(MemoryFault):
        add(single(0), single())


@pytest.mark.parametrize("kernel", [kernels.store_at, kernels.add_at], ids=["store", "atomic"])
@pytest.mark.parametrize("address", [0, 4, -4, 0x1234, 1 << 47, 0x7FFF_0000_0000, "object"])
def test_wild_addresses(kernel: Any, address: int | str) -> None:
    place = id(kernel) if isinstance(address, str) else address
    with pytest.raises(MemoryFault):
        kernel[(1,)](single(), place, BLOCK=64)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_kernel_that_never_ends_is_interrupted() -> None:
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        kernels.wait_forever[(1,)](numpy.zeros(64, numpy.float32), single(), BLOCK=64)


def test_launches_of_many_threads() -> None:
    wrong: list[str] = []

    def work(number: int) -> None:
        x = numpy.full(1000 + number, number, numpy.float32)
        for _ in range(20):
            out = numpy.zeros_like(x)
            kernels.add[(4,)](x, x, out, x.size, BLOCK=256)
            if (out != 2 * number).any():
                wrong.append(f"thread {number}: {out}")

    add(single(), single())
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# -------------------------------------------------------------------------------------------------------- tensors of torch
@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


@pytest.mark.parametrize("make", [lambda torch: torch.zeros(64, device="meta"), lambda torch: torch.zeros(0, device="meta")], ids=["some", "none"])
def test_tensors_elsewhere(torch: Any, make: Callable[[Any], Any]) -> None:
    with pytest.raises(UnsupportedError, match="a tensor on meta"):
        kernels.scale[(1,)](make(torch), single(), (numpy.float32(1.0), 2), BLOCK=64)


def test_storages_without_memory(torch: Any) -> None:
    x = torch.ones(64)
    x.untyped_storage().resize_(0)
    with pytest.raises(MemoryFault):
        add(x, single())


def test_a_shared_storage_that_is_resized(torch: Any) -> None:
    count = 1 << 22                                         # large enough that the allocator gives its pages back
    x, out = torch.ones(count), numpy.zeros(64, numpy.float32)
    address = numpy.array([x.data_ptr()], numpy.int64)
    emulated.share(x)
    kernels.through_address[(1,)](address, out, BLOCK=64)
    assert out.all()
    x.untyped_storage().resize_(0)
    with pytest.raises(MemoryFault):
        kernels.through_address[(1,)](address, out, BLOCK=64)
    x.untyped_storage().resize_(4 * count)
    x.fill_(3)
    kernels.through_address[(1,)](numpy.array([x.data_ptr()], numpy.int64), out, BLOCK=64)
    assert (out == 3).all()
    emulated.unshare(x)
    with pytest.raises(InputError, match="not shared"):
        emulated.unshare(x)
