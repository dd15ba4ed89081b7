"""Compiled kernels, one folder per room."""
