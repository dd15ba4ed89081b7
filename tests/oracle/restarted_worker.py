"""A process that works through a list for another, and is replaced where it dies or takes too long: for sweeps over foreign shaders."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any


class WorkerFailed(RuntimeError):
    """The process died, or was ended because it took too long; the message says which."""


def _serve(connection: Connection, function: Callable[[Any], Any]) -> None:
    while (argument := connection.recv()) is not None:
        connection.send(function(argument))


class RestartedWorker:
    """A process that applies a function.

    Parameters
    ----------
    function : callable
        Takes one argument, not None; argument and result are pickled.
    seconds : float
        Most time for one call.
    """

    def __init__(self, function: Callable[[Any], Any], seconds: float) -> None:
        self.function, self.seconds = function, seconds
        self._start()

    def _start(self) -> None:
        self.connection, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_serve, args=(other, self.function), daemon=True)
        self.process.start()
        other.close()

    def apply(self, argument: Any) -> Any:
        """Return what the function makes of the argument; raises `WorkerFailed`, with a new process ready."""
        self.connection.send(argument)
        try:
            if self.connection.poll(self.seconds):
                return self.connection.recv()
            cause = f"takes longer than {self.seconds:g} seconds"
        except (EOFError, ConnectionError):
            self.process.join()
            cause = f"the process died, exit status {self.process.exitcode}"
        self.process.kill()
        self.process.join()
        self._start()
        raise WorkerFailed(cause)

    def close(self) -> None:
        """End the process."""
        self.connection.send(None)
        self.process.join()
