"""What is wrong with a call, asked when it has failed: annotations say what each argument is, and an error names the one that is not that.

A call that succeeds pays for one frame. One that fails with a Python error is judged (``pyaco.argument_errors``, which is loaded then).
"""

from __future__ import annotations

from pyaco.errors import InputError, PyacoError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Thing = TypeVar("Thing")

__all__ = ["checked"]


def checked(thing: Thing) -> Thing:
    """Decorate a function, or all public methods of a class: arguments that are at fault for an error are named.

    Parameters
    ----------
    thing
        A function or a class.

    Returns
    -------
    callable or class
        Of the same signature; a class itself.
    """
    if isinstance(thing, type):
        for name, member in list(vars(thing).items()):
            if name in ("__init__", "__getitem__") or not name.startswith("_"):
                if isinstance(member, classmethod):
                    setattr(thing, name, classmethod(_guarded(member.__func__)))
                elif callable(member) and not isinstance(member, type):
                    setattr(thing, name, _guarded(member))
        return thing
    return _guarded(thing)  # type: ignore[arg-type, return-value]


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except PyacoError:
            raise
        except Exception as error:
            from pyaco.argument_errors import explanation

            if words := explanation(function, arguments, named, error):
                raise InputError(words) from error
            raise

    # as functools.wraps does, whose import costs a command as much as its work
    for attribute in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
        setattr(guarded, attribute, getattr(function, attribute, None))
    guarded.__wrapped__ = function  # type: ignore[attr-defined]
    return guarded
