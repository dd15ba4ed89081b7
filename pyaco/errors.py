"""The errors that pyaco raises for what a user feeds in."""

__all__ = ["InputError", "PyacoError", "UnsupportedError", "is_of_long_number"]


class PyacoError(Exception):
    """Base of every error that pyaco raises on purpose."""


class InputError(PyacoError):
    """The input is malformed: the message says where (word, line, column, register) and why."""


class UnsupportedError(PyacoError):
    """The input is well formed and uses a feature that pyaco does not have; the message names the feature."""


def is_of_long_number(error: Exception) -> bool:
    """Whether Python refuses to spell a number for its length (thousands of digits), as a message about the number would."""
    return isinstance(error, ValueError) and "integer string conversion" in str(error)
