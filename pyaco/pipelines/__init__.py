"""Which passes there are (``nir_passes``, ``aco_passes``), and their order for each shader stage (``compute``)."""

from __future__ import annotations

__all__: list[str] = []
