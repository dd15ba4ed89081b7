"""Compiled kernels of the emulator's inspecting engine: checks of waits and races, counts, traces, breakpoints."""
