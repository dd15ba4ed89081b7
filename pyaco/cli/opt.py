"""``pyaco opt``: run passes on IR text."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from pyaco import targets
from pyaco.cli.command_line import CommandLine, Options, read_bytes, write_text
from pyaco.errors import InputError, UnsupportedError
from pyaco.passes import Group, IntermediateRepresentation, Pass, Pipeline, Run, Step
from pyaco.pipelines import compute, properties
from pyaco.pipelines.aco_passes import ACO_PASSES
from pyaco.pipelines.nir_passes import NIR_PASSES
from pyaco.targets.limits import check_wgp_mode

__all__ = ["add_arguments", "run"]

WORD = re.compile(r"\s*(\w+)\s*(?:\{([^{}]*)\})?\s*(?:,|$)")
ADDRESS32_HI = 0xFFFF8000
Member = Pass | Step | Group


def add_arguments(parser: CommandLine) -> None:
    """Describe the command line of this verb."""
    parser.add_argument("input", nargs="?", metavar="IN", help="NIR text, ACO IR text or SPIR-V; - for standard input")
    parser.add_argument("--passes", default="", metavar="PASSES", help="passes in order: dce,algebraic{late=true}; groups of the pipeline too")
    parser.add_argument("--target", help="gfx name, chip name or product name (what the text says, or gfx1100)")
    parser.add_argument("--wave", type=int, choices=(32, 64), help="lanes per wave (what the text says, or 64)")
    parser.add_argument("--workgroup-size", type=int, metavar="N", help="invocations of a workgroup, for ACO IR text, which does not say it")
    parser.add_argument("--wgp-mode", action="store_true", help="the workgroups of ACO IR text may run on both compute units of a pair")
    parser.add_argument("-o", "--output", metavar="OUT", help="file to write (standard output)")
    parser.add_argument("--validate", action="store_true", help="run the validators after every pass")
    parser.add_argument("--time-passes", action="store_true", help="print how long each pass took")
    parser.add_argument("--list", action="store_true", help="list all passes: what they do, need and guarantee")
    parser.add_argument("--pipeline", choices=(compute.STAGE,), help="list the passes of a stage in order")


def run(options: Options) -> None:
    """Read IR, run the passes on it, write it."""
    if options.list:
        write_text(options.output, _listing())
    elif options.pipeline:
        write_text(options.output, _pipeline())
    elif options.input is None:
        raise InputError("no input: name a file, or - for standard input")
    else:
        _optimize(options)


def _optimize(options: Options) -> None:
    representation, ir = _read(options)
    steps = Run(validate=options.validate)
    level = ir.info["gfx_level"] if representation.name == "nir" else ir.gfx_level
    state = _State(representation.name, ir)
    for room, members in _runs(representation.name, options.passes):
        if room == "selection":
            ir = _select(steps, ir, _chip(options, level), options.wgp_mode)
            from pyaco.aco.passes import ACO as representation

            state = _State("aco", ir)
            continue
        for member in state.ready(members, level):
            _run_one(steps, representation, member, ir, level)
    if options.time_passes:
        for record in steps.records:
            print(f"{record.milliseconds:9.3f} ms  {record.name}", file=sys.stderr)
    text = representation.text(ir)
    if representation.name == "aco" and ir.code:
        text += f"\n/* machine code */\n{_machine_code(ir, options)}\n"
    write_text(options.output, text)


def _machine_code(program: Any, options: Options) -> str:
    """The words of each instruction and its text."""
    from pyaco import isa

    lines = []
    for line in isa.disassemble_lines(program.code, _chip(options, program.gfx_level).target, wave_size=program.wave_size):
        words = [program.code[at : at + 4][::-1].hex() for at in range(line.offset, line.offset + line.size, 4)]
        lines.append(f"{' '.join(words):<28}{line.text.strip()}")
    return "\n".join(lines)


def _run_one(steps: Run, representation: IntermediateRepresentation, member: Member, ir: Any, level: int) -> None:
    """Run a pass or group. IR that a user hands in may not be what a pass needs: what kernels say of it is an error of the input."""
    from pyaco.aco.validate import ValidationError, is_seen_to_lack

    name = member.entry.name if isinstance(member, Step) else member.name
    needs = member.entry.needs if isinstance(member, Step) else member.needs if isinstance(member, Pass) else ()
    if representation.name == "aco":
        for need in needs:
            if is_seen_to_lack(ir, need):
                raise InputError(f"the pass {name!r} needs {need!r}, which does not hold: {properties.ACO_PROPERTIES[need]}")
    try:
        steps.run(representation, Pipeline(representation.name, compute.STAGE, (member,)), ir, level)
    except (ValueError, RuntimeError) as error:
        raise InputError(f"the pass {name!r}: {error}") from error
    except ValidationError as error:
        if isinstance(member, Pass) and member.analysis:
            raise InputError(f"found by the analysis {name!r}, which changes nothing: {error}") from error
        raise


# ------------------------------------------------------------------------------------------------------------------- reading
def _read(options: Options) -> tuple[IntermediateRepresentation, Any]:
    data = read_bytes(options.input)
    name = "<standard input>" if options.input == "-" else options.input
    representation, ir = _parsed(data, name, options)
    if representation.name == "nir" and options.workgroup_size is not None:
        raise InputError(f"--workgroup-size: {name} says itself how large a workgroup is")
    return representation, ir


def _parsed(data: bytes, name: str, options: Options) -> tuple[IntermediateRepresentation, Any]:
    if data[:4] in (b"\x03\x02\x23\x07", b"\x07\x23\x02\x03"):
        from pyaco import spirv

        return _for_target(spirv.read(data), options)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not text: {error}") from None
    if name.endswith(".aco") or re.match(r"\s*(?:After [\w ]+:|ACO shader stage|BB0\b)", text):
        return _read_program(text, name, options)
    from pyaco.nir.parse import parse_shader

    return _for_target(parse_shader(text, name), options)


def _for_target(shader: Any, options: Options) -> tuple[IntermediateRepresentation, Any]:
    from pyaco.nir.passes import NIR

    try:
        level = _chip(options, shader.info["gfx_level"]).level
    except StopIteration:
        raise InputError(f"no chip has gfx level {shader.info['gfx_level']}") from None
    wave = options.wave or shader.info["wave_size"] or 64
    shader.set_info(gfx_level=level, wave_size=wave, address32_hi=shader.info["address32_hi"] or ADDRESS32_HI)
    return NIR, shader


def _read_program(text: str, name: str, options: Options) -> tuple[IntermediateRepresentation, Any]:
    from pyaco._core.aco import build
    from pyaco._core.ir.vocabulary import Progress
    from pyaco.aco.passes import ACO
    from pyaco.aco.text import parse_program

    chip = _chip(options)
    wave = options.wave or 64
    limits = targets.wave_limits(chip, wave).as_dict()
    check_wgp_mode(chip, options.wgp_mode)
    size = {} if options.workgroup_size is None else {"workgroup_size": options.workgroup_size}
    try:
        program = parse_program(text, chip.level, wave, wgp_mode=options.wgp_mode, **size)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    build.set_device(program, **limits)
    if build.progress(program) < Progress.RA:           # behind it, addresses of images may have forms that lower_to_hw_instr takes away
        _validate_program(program, name)
    return ACO, program


def _validate_program(program: Any, name: str) -> None:
    """What is wrong before any pass has run is not a pass's fault."""
    from pyaco.aco.validate import ValidationError, validate_structure

    try:
        validate_structure(program, branches=False)
    except ValidationError as error:
        raise InputError(f"{name}: {error}") from None


def _chip(options: Options, level: int = 0) -> targets.Chip:
    """The chip that the command line names, else the first of a gfx level."""
    if options.target is None:
        return targets.chip("gfx1100") if not level else next(chip for chip in targets.chips() if chip.level == level)
    chip = targets.chip(options.target)
    if chip.is_cdna:
        raise UnsupportedError(f"passes for {chip.target}: {chip.architecture} has an instruction set but no compiler here")
    return chip


def _select(steps: Run, shader: Any, chip: targets.Chip, wgp_mode: bool) -> Any:
    """Instruction selection: the one pass whose result is another IR."""
    from pyaco._core.aco import isel
    from pyaco._core.ir.program import Program
    from pyaco.aco.passes import ACO

    x, y, z = shader.info["workgroup_size"]
    wave = shader.info["wave_size"]
    program = Program()
    program.configure(gfx_level=chip.level, wave_size=wave, workgroup_size=x * y * z, limits=targets.wave_limits(chip, wave).as_dict(),
                      wgp_mode=wgp_mode)  # fmt: skip
    isel.run(shader, program)
    steps.note(ACO, "aco", "instruction_selection", program)
    return program


# -------------------------------------------------------------------------------------------------------------------- passes
def _runs(ir: str, text: str) -> Iterator[tuple[str, list[Member]]]:
    """The passes that text names, in runs over one IR; instruction selection stands between two."""
    members: list[Member] = []
    at = 0
    while at < len(text.rstrip()):
        match = WORD.match(text, at)
        if match is None:
            raise InputError(f"--passes: not understood: {text[at:]!r}; expected names such as dce,algebraic{{late=true}}")
        at = match.end()
        member = _member(ir, match[1], match[2])
        if member is compute.SELECTION:
            yield ir, members
            yield "selection", []
            ir, members = "aco", []
        else:
            members.append(member)
    yield ir, members


def _member(ir: str, name: str, options: str | None) -> Member:
    if name == compute.SELECTION.name and ir == "nir":
        return compute.SELECTION
    known = NIR_PASSES if ir == "nir" else ACO_PASSES
    if name in known:
        return known[name](**_options(name, options)) if options is not None else known[name]
    groups = {group.name: group for group in _groups(compute.NIR.members)} if ir == "nir" else {}
    if name in groups and options is None:
        return groups[name]
    others = ACO_PASSES if ir == "nir" else NIR_PASSES
    hint = f"; it is a pass over {'ACO IR' if ir == 'nir' else 'NIR'}" if name in others else "; see `pyaco opt --list`"
    raise InputError(f"no pass over {'NIR' if ir == 'nir' else 'ACO IR'} is named {name!r}{hint}")


def _options(name: str, text: str) -> dict[str, str]:
    found = {}
    for word in filter(None, (piece.strip() for piece in text.split(","))):
        key, equals, value = word.partition("=")
        if not equals:
            raise InputError(f"--passes {name}{{{text}}}: expected OPTION=VALUE, not {word!r}")
        found[key.strip()] = value.strip()
    return found


def _groups(members: Iterable[Member]) -> Iterator[Group]:
    for member in members:
        if isinstance(member, Group):
            yield member
            yield from _groups(member.members)


class _State:
    """Which properties of the IR are known to hold, so that analyses run by themselves where a pass needs them."""

    def __init__(self, name: str, ir: Any) -> None:
        self.known = NIR_PASSES if name == "nir" else ACO_PASSES
        self.analyses = {found: entry for entry in self.known.values() if entry.analysis for found in entry.guarantees}
        self.holding = {"divergence"} if name == "nir" and ir.info["divergence_valid"] else set()

    def ready(self, members: Iterable[Member], level: int) -> Iterator[Member]:
        """The passes with the analyses that they need before them, a group among them as one."""
        for member in members:
            inner = [member] if not isinstance(member, Group) else list(Pipeline("", "", member.members).steps())
            for step in inner:
                entry = step.entry if isinstance(step, Step) else step
                assert isinstance(entry, Pass)
                if not entry.applies(level, compute.STAGE):
                    raise InputError(f"the pass {entry.name!r} does not apply to gfx level {level / 10:g}")
                if step is member:
                    yield from self._analyses(entry.needs)
                self.holding = (self.holding - set(entry.breaks)) | set(entry.guarantees)
            yield member

    def _analyses(self, needs: Iterable[str]) -> Iterator[Pass]:
        for need in needs:
            if need in self.analyses and need not in self.holding:
                entry = self.analyses[need]
                yield from self._analyses(entry.needs)
                self.holding |= set(entry.guarantees)
                yield entry


# ------------------------------------------------------------------------------------------------------------------- listing
def _listing() -> str:
    """Every pass: what it does, its options, what it needs, guarantees and may break, where it applies."""
    blocks = []
    for title, passes in (("NIR", NIR_PASSES.values()), ("NIR to ACO IR", [compute.SELECTION]), ("ACO IR", ACO_PASSES.values())):
        blocks.append(f"{title}\n" + "\n".join(_described(entry) for entry in passes))
    for title, known in (("Properties of NIR", properties.NIR_PROPERTIES), ("Properties of ACO IR", properties.ACO_PROPERTIES)):
        blocks.append(f"{title}\n" + "\n".join(f"  {name}: {meaning}" for name, meaning in known.items()))
    return "\n\n".join(blocks)


def _described(entry: Pass) -> str:
    kind = "analysis" if entry.analysis else "required" if entry.required else "optimisation"
    lines = [f"  {entry.name} ({kind}): {entry.summary}"]
    lines += [f"      option {option.name}={str(option.default).lower()}: {option.meaning}" for option in entry.options]
    for title, words in (("needs", entry.needs), ("guarantees", entry.guarantees), ("may break", entry.breaks), ("stages", entry.stages)):
        if words:
            lines.append(f"      {title}: {', '.join(words)}")
    if entry.since:
        lines.append(f"      from gfx level {entry.since / 10:g} on")
    return "\n".join(lines)


def _pipeline() -> str:
    return "\n".join((
        "spirv:", "  read", "nir:", compute.NIR.describe("  "), "aco:", f"  {compute.SELECTION.name}", compute.ACO.describe("  "),
        compute.ASSEMBLER.describe("  "),
    ))  # fmt: skip
