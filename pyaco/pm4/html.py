"""Command streams as a page of HTML that needs nothing else: packets, shaders and descriptors unfold."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from pyaco.arguments import checked
from pyaco.pm4.shader_use import Descriptor, ShaderUse
from pyaco.pm4.stream import Packet
from pyaco.pm4.text import descriptor_lines, load_line, packet_body_lines, shader_heading

__all__ = ["format_html"]

_STYLE = """
body { font: 14px/1.4 sans-serif; margin: 1em 2em; }
pre, summary, code { font-family: monospace; font-size: 13px; white-space: pre-wrap; }
pre { margin: 0 0 0 2em; }
details details { margin-left: 2em; }
summary:hover { background: #eef; }
.run > summary { font-weight: bold; }
.place { color: #888; }
"""


@checked
def format_html(packets: Sequence[Packet], title: str) -> str:
    """Return the page.

    Parameters
    ----------
    packets : sequence of Packet
        As ``pyaco.pm4.parse`` returns them; those that ``annotate`` has seen show what they run.
    title : str
    """
    body = "\n".join(_packet(packet) for packet in packets)
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style></head>\n'
            f"<body><h1>{escape(title)}</h1>\n<p>{len(packets)} packets</p>\n{body}\n</body></html>\n")


def _fold(heading: str, inside: str, kind: str = "", unfolded: bool = False) -> str:
    marks = f' class="{kind}"' * bool(kind) + " open" * unfolded
    return f"<details{marks}><summary>{heading}</summary>{inside}</details>"


def _block(lines: Sequence[str]) -> str:
    return f"<pre>{escape(chr(10).join(lines))}</pre>" if lines else ""


def _packet(packet: Packet) -> str:
    heading, *lines = packet_body_lines(packet)
    inside = _block(lines)
    inside += "".join(_shader(shader) for shader in packet.shaders)
    if packet.nested is not None:
        what = "goes on" if packet.chained else "calls"
        inside += _fold(f"{what} at 0x{packet.address:x}: {len(packet.nested)} packets", "\n".join(map(_packet, packet.nested)), unfolded=True)
    runs = bool(packet.shaders or packet.nested)
    return _fold(f'<span class="place">{packet.place}</span> {escape(heading)}', inside, "run" * runs, unfolded=runs)


def _shader(shader: ShaderUse) -> str:
    code = _block([f"{line.offset:6x}  {line.text.strip()}" for line in shader.lines])
    inside = _fold(f"code, {len(shader.lines)} lines", code) + "".join(map(_descriptor, shader.descriptors))
    if shader.loads:
        inside += _fold(f"{len(shader.loads)} scalar loads", _block([load_line(load) for load in shader.loads]))
    return _fold(escape(shader_heading(shader)), inside, unfolded=True)


def _descriptor(descriptor: Descriptor) -> str:
    heading, *lines = descriptor_lines(descriptor)
    return _fold(escape(heading), _block(lines))
