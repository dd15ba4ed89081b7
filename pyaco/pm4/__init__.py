"""PM4: the command streams of AMD's command processor, GFX6 to GFX12."""

from __future__ import annotations

from pyaco.pm4.build import PAD, DispatchStream, Stream, packet, register_packet
from pyaco.pm4.html import format_html
from pyaco.pm4.memory import pieces
from pyaco.pm4.named import named_packet, named_values
from pyaco.pm4.opcodes import NAMES, OPCODES
from pyaco.pm4.plain_data import facts
from pyaco.pm4.processor import CommandProcessor, submit
from pyaco.pm4.rings import Ring, run_rings
from pyaco.pm4.sdma import SdmaEngine, SdmaPacket, parse_sdma, sdma_packet
from pyaco.pm4.shader_use import Descriptor, ShaderUse
from pyaco.pm4.shaders import annotate
from pyaco.pm4.stream import Packet, parse
from pyaco.pm4.text import format_packets
from pyaco.pm4.values import Value

__all__ = ["NAMES", "OPCODES", "PAD", "CommandProcessor", "Descriptor", "DispatchStream", "Packet", "Ring", "SdmaEngine", "SdmaPacket",
           "ShaderUse", "Stream", "Value", "annotate", "facts", "format_html", "format_packets", "named_packet", "named_values", "packet",
           "parse", "parse_sdma", "pieces", "register_packet", "run_rings", "sdma_packet", "submit"]
