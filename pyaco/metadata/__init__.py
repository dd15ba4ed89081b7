"""What metadata surfaces hold: DCC, CMASK, FMASK, HTILE, HiZ and HiS, read, written, and resolved into texels, as functions on memory.

A module for each kind, `dcc`, `cmask`, `fmask`, `htile` and `hierarchical` (HiZ and HiS); `resolve` makes one sample of many; `colors` packs
colours into texels. Memory is a NumPy array with a surface's bytes, `Surface.total_size` of them, laid out as drivers do
(`pyaco.addrlib.Surface`). Functions that change memory do so in place. GFX12 compresses memory without metadata surfaces; of those but HiZ and HiS
functions raise `UnsupportedError` there.

What the codes mean that hardware writes when it compresses texels (delta colours, planes of depth) is not public; where one
stands, `UnsupportedError` names it.
"""

from __future__ import annotations

__all__: list[str] = []
