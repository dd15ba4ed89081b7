"""GPU shaders to AMD machine code, that machine code on an ordinary CPU, and GPU memory as AMD hardware lays it out."""

from pyaco.errors import InputError, PyacoError, UnsupportedError

# typing itself costs as much as the rest of this import; type checkers know the name
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pyaco import aco, addrlib, emu, isa, nir, spirv, targets, texels
    from pyaco.compiler import CompiledShader, compile
    from pyaco.compute_pipeline import Pipeline, PipelineCache, ShaderModule

    __version__: str

__all__ = [
    "CompiledShader", "InputError", "Pipeline", "PipelineCache", "PyacoError", "ShaderModule", "UnsupportedError", "__version__", "aco", "addrlib",
    "compile", "emu", "get_include", "isa", "nir", "spirv", "targets", "texels",
]

_ROOMS = frozenset(("aco", "addrlib", "binary", "descriptors", "emu", "isa", "meta", "nir", "pm4", "spirv", "targets", "texels", "texture_files"))


def get_include() -> str:
    """Return the folder of the tables and headers that a project needs to ``cimport`` the kernels.

    It belongs in the include paths of Cython (``.pxd``) and of the C++ compiler (``.h``); the kernels' own data sheets are found beside their
    modules. ``examples/cimport_project`` is such a project.

    Returns
    -------
    str
        A folder of the installed package.

    Raises
    ------
    PyacoError
        In a working tree, where the tables are in the build folder.
    """
    folder = f"{__path__[0]}/include"
    from os.path import exists

    if not exists(f"{folder}/isa_tables.pxd"):
        raise PyacoError(f"{folder} has no tables: pyaco runs from a working tree; install it to build against it")
    return folder


def __getattr__(name: str) -> "Any":
    # Rooms load when they are used, so that importing pyaco costs next to nothing.
    if name == "__version__":
        try:
            from pyaco._version import version as known
        except ModuleNotFoundError:
            known = "0+unknown"  # a working tree, whose version only a build asks for
        globals()[name] = known
        return known
    if name in ("compile", "CompiledShader"):
        from pyaco import compiler

        found = globals()[name] = getattr(compiler, name)  # this function is not asked again
        return found
    if name in ("Pipeline", "PipelineCache", "ShaderModule"):
        from pyaco import compute_pipeline

        return getattr(compute_pipeline, name)
    if name in _ROOMS:
        import importlib

        return importlib.import_module(f"pyaco.{name}")
    raise AttributeError(f"module 'pyaco' has no attribute {name!r}")
