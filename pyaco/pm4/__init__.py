"""PM4: the command streams of AMD's command processor, GFX6 to GFX12."""

from __future__ import annotations

from pyaco.pm4.opcodes import NAMES, OPCODES
from pyaco.pm4.stream import Packet, Value, parse
from pyaco.pm4.text import format_packets

__all__ = ["NAMES", "OPCODES", "Packet", "Value", "format_packets", "parse"]
