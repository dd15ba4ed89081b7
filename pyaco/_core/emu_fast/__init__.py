"""Compiled kernels of the emulator's fast engine."""
