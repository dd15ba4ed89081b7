"""PM4: the command streams of AMD's command processor, GFX6 to GFX12."""

from __future__ import annotations

from pyaco.pm4.build import DispatchStream, Stream, packet
from pyaco.pm4.opcodes import NAMES, OPCODES
from pyaco.pm4.processor import CommandProcessor, Ring, run_rings
from pyaco.pm4.stream import Packet, Value, parse
from pyaco.pm4.text import format_packets

__all__ = ["NAMES", "OPCODES", "CommandProcessor", "DispatchStream", "Packet", "Ring", "Stream", "Value", "format_packets", "packet",
           "parse", "run_rings"]
