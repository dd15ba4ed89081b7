"""The backend: passes over ACO IR, its text form, validators and statistics."""

from __future__ import annotations

from pyaco.aco.passes import PASSES, Options, pass_names, register_pass, registered, run_passes, unregister_pass
from pyaco.aco.pressure import LiveValue, Peak, Place, Pressure, explain_pressure
from pyaco.aco.text import format_program, parse_program

__all__ = ["PASSES", "LiveValue", "Options", "Peak", "Place", "Pressure", "explain_pressure", "format_program", "parse_program", "pass_names",
           "register_pass", "registered", "run_passes", "unregister_pass"]  # fmt: skip
