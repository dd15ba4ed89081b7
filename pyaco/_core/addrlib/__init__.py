"""Compiled kernels of this room."""
