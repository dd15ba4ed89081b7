"""Runs the NIR passes on a shader, and passes of the caller between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyaco._core.ir.shader import Shader
from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.passes import IntermediateRepresentation, Run, Stopped, UserPasses
from pyaco.pipelines import compute
from pyaco.pipelines.nir_passes import vars_to_ssa
from pyaco.targets.lowering import DoublesLowering, Int64Lowering

__all__ = ["NIR", "check_lowered", "mark_lowered", "pass_names", "register_pass", "registered", "run", "unregister_pass"]

OPTIONS = ("optimize", "disabled", "stop_after", "validate")

OnPass = Callable[[str, Shader, float], object]


def _text(shader: Shader) -> str:
    from pyaco.nir.text import print_shader

    return print_shader(shader)


def _validate(shader: Shader, after: str) -> None:
    from pyaco._core.nir import validate

    validate.run(shader)


_users = UserPasses("NIR", compute.NIR, first="read")
register_pass = _users.register_pass
unregister_pass = _users.unregister_pass
registered = _users.registered
pass_names = _users.pass_names

#: What the pass manager has to know of NIR.
NIR = IntermediateRepresentation("nir", _text, _validate, _users)


def check_lowered(shader: Shader, int64: Int64Lowering, fp64: DoublesLowering) -> None:
    """Complain about operations on 64-bit integers or doubles that should have been lowered; behind the last pass.

    Raises
    ------
    ValidationError
    """
    from pyaco._core.nir import lower_doubles, lower_int64
    from pyaco._core.nir.validate import ValidationError

    if left := lower_int64.remaining(shader, int64) + lower_doubles.remaining(shader, fp64):
        raise ValidationError(f"operations of 64 bits that are to be lowered: {', '.join(left)}")


def mark_lowered(shader: Shader) -> None:
    """Note that the passes run on this shader, and refuse to do so twice."""
    known = shader.facts.known
    if known.get("lowered"):
        raise InputError("the passes have run on this shader: it is lowered in place, and must be read again for another compilation")
    known["lowered"] = True


@checked
def run(shader: Shader, options: Mapping[str, Any] | None = None, on_pass: OnPass | None = None) -> Shader:
    """Lower and optimise a shader in place, up to what instruction selection accepts.

    Parameters
    ----------
    shader : Shader
        As the SPIR-V reader, the text reader or a ``Builder`` makes it; ``gfx_level``, ``wave_size`` and
        ``address32_hi`` of its info must be set.
    options : mapping, optional
        ``indirect_limit``: elements of a local array that stays in registers although it is indexed at run time; ``optimize``: False, only the
        passes that correct code needs; ``disabled``: names of optimisations to leave out; ``stop_after``: name of the last pass to run;
        ``validate``: validate after every pass.
    on_pass : callable, optional
        Called after every pass with its name, the shader and the seconds it took.

    Returns
    -------
    Shader
        The same shader; ``shader.metadata["abi"]`` says how its arguments reach registers.

    Raises
    ------
    InputError
        The shader has been lowered already, or holds what no pass can read.
    """
    mark_lowered(shader)
    chosen = dict(options or {})
    pipeline = compute.NIR
    if "indirect_limit" in chosen:
        pipeline = pipeline.with_options(vars_to_ssa, indirect_limit=chosen.pop("indirect_limit"))
    if unknown := chosen.keys() - OPTIONS:
        raise InputError(f"no option {', '.join(sorted(unknown))}; there are: indirect_limit, {', '.join(OPTIONS)}")
    steps = Run(**chosen, on_pass=on_pass)
    steps.check_disabled(pipeline)
    try:
        steps.run(NIR, pipeline, shader, shader.gfx_level)
    except Stopped:
        return shader
    steps.check_names()
    return shader
