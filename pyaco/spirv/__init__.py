"""Reader of SPIR-V: the words of a Vulkan compute module (1.0 to 1.6) to NIR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyaco._core.spirv import reader as _reader
from pyaco.arguments import checked

if TYPE_CHECKING:
    from pyaco._core.ir.shader import Shader

__all__ = ["entry_points", "read", "reflect"]


@checked
def read(
    words: bytes,
    entry: str | None = None,
    specialization: Mapping[int, int | float | bool] | None = None,
    stage: str = "compute",
) -> Shader:
    """Read one entry point of a SPIR-V module into NIR.

    Calls are inlined and control flow is structured; derefs and variables are still there, for the NIR passes to lower.
    Descriptor accesses are ``vulkan_resource_index`` and ``load_vulkan_descriptor``, as on Mesa's Vulkan path.

    Parameters
    ----------
    words
        The module, in either byte order.
    entry
        Name of the entry point; None takes the only one of the stage, or ``main``.
    specialization
        Values of specialization constants by SpecId.
    stage
        Shader stage; only ``compute`` so far.

    Returns
    -------
    Shader
        ``shader.metadata`` holds what `reflect` returns, and ``source``, the module.

    Raises
    ------
    pyaco.InputError
        The module is malformed; the message names the word and the instruction.
    pyaco.UnsupportedError
        The module uses a feature that pyaco does not have.

    References
    ----------
    SPIR-V specification 1.6; Vulkan environment for SPIR-V (Vulkan specification, appendix A).
    """
    return _reader.begin_reading(bytes(words), entry, dict(specialization) if specialization else None, stage).run()


@checked
def reflect(
    words: bytes,
    entry: str | None = None,
    specialization: Mapping[int, int | float | bool] | None = None,
    stage: str = "compute",
) -> dict[str, Any]:
    """Return the interface of an entry point.

    Parameters
    ----------
    words, entry, specialization, stage
        As `read` takes them.

    Returns
    -------
    dict
        ``entry``, ``stage``, ``workgroup_size``, ``push_constant_bytes``, ``spirv_version``, ``descriptor_sets``
        (set -> binding -> ``type`` such as "ssbo", "ubo" or "storage_image", and ``count``, 0 for a runtime array; only what the
        entry point uses; "ssbo|ubo" where variables have the binding as several types), ``spec_constants`` (SpecId -> ``name``,
        ``type``, ``default``, ``value``).
    """
    found = dict(read(words, entry, specialization, stage).metadata)
    del found["source"]
    return found


@checked
def entry_points(words: bytes) -> list[tuple[str, str]]:
    """Return name and stage of every entry point of a module.

    Parameters
    ----------
    words : bytes
        The module.

    Returns
    -------
    list of (str, str)
        Name and stage.

    Raises
    ------
    InputError
        The bytes are not a SPIR-V module.
    """
    return _reader.entry_points(bytes(words))
