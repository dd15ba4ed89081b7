"""Two queues: a compute queue multiplies matrices and signals a fence, a DMA queue waits for it and copies the product.

Run with ``python examples/command_stream.py [REPORT.html [TARGET]]``; the report shows the packets, the shader and its descriptors.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy

import pyaco
from pyaco import pm4

SIZE = 32
TILE = 16


def main(report: str | None = None, target: str = "gfx1100") -> int:
    """Run the demonstration; the exit status says whether the copy was right."""
    shader = pyaco.compile(Path(__file__).with_name("matmul.spv"), target=target)
    device = pyaco.emu.Device(target)
    level = device.gfx_level
    rng = numpy.random.default_rng(1)
    a, b = rng.standard_normal((2, SIZE, SIZE), dtype=numpy.float32)
    product, copy, fence = device.zeros(a.nbytes), device.zeros(a.nbytes), device.zeros(4)
    buffers = {(0, 0): device.buffer(a), (0, 1): device.buffer(b), (0, 2): product}
    push = numpy.array([SIZE] * 3, numpy.uint32).tobytes()

    with pm4.DispatchStream(device, shader, (SIZE // TILE, SIZE // TILE, 1), buffers, push) as dispatch:
        signal = pm4.named_packet("RELEASE_MEM", level, EVENT_TYPE="BOTTOM_OF_PIPE_TS", DATA_SEL=1, ADDRESS_LO=fence.address & 0xFFFFFFFF,
                                  ADDRESS_HI=fence.address >> 32, DATA_LO=1)
        stream = [*dispatch.words, *signal]
        wait = pm4.sdma_packet("POLL_REGMEM", level, ADDR=fence.address, FUNCTION="EQUAL", MEM_POLL=1, VALUE=1, MASK=0xFFFFFFFF)
        count = a.nbytes - 1 if level >= 90 else a.nbytes              # from GFX9 on packets count from 0
        move = pm4.sdma_packet("COPY_LINEAR", level, SRC_ADDR=product.address, DST_ADDR=copy.address, COUNT=count)

        compute, dma = pm4.Ring(device, queue="compute"), pm4.Ring(device, queue="sdma")
        memory = compute.processor.fetch
        packets = pm4.parse(stream, level, memory)
        pm4.annotate(packets, target, memory)
        print(pm4.format_packets(packets))
        print(pm4.format_packets(pm4.parse_sdma([*wait, *move], level)))
        if report:
            Path(report).write_text(pm4.format_html(packets, "A matrix multiplication"))

        dma.write([*wait, *move])
        compute.write(stream)
        pm4.run_rings([dma, compute])

    error = numpy.abs(copy.numpy().view(numpy.float32).reshape(SIZE, SIZE) - a.astype(numpy.float64) @ b).max()
    print(f"The product that the DMA engine copied: largest error against NumPy {error:.2e}")
    return 0 if error < 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
