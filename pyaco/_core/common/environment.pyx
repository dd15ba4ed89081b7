"""The environment as the process has it, to which every change of ``os.environ`` goes as well.

``os.environ`` tells by exceptions that it lacks a name: that took longer than most passes over a small shader.
"""
from libc.stdlib cimport getenv


def is_set(bytes name not None):
    """Whether there is a variable of a name, empty or not."""
    return getenv(name) != NULL
