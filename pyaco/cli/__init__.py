"""The ``pyaco`` command: one module a verb."""
