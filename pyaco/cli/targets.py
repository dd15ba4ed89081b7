"""``pyaco targets``."""

from __future__ import annotations

import json
from typing import Any

from pyaco.addrlib import gpu_config
from pyaco.cli.command_line import CommandLine, Options, write_text
from pyaco.errors import InputError, UnsupportedError
from pyaco.targets import Chip, chip, chips, features, occupancy, wave_limits
from pyaco.targets.database import CodeName, Die, Product, dies, families, find_code_names, find_product, products
from pyaco.targets.figures import Figure, peaks, structure
from pyaco.targets.memory import NUMBERINGS, MemoryProperty, choose_memory_type, memory_heaps
from pyaco.targets.product_names import Name, decode_name, order_names
from pyaco.targets.queues import queues

__all__ = ["add_arguments", "run"]


def add_arguments(parser: CommandLine) -> None:
    """Describe the command line of this verb."""
    parser.add_argument("name", nargs="?", help="a gfx name, chip name, product name or code name of chips; all targets when left out")
    parser.add_argument("--occupancy", action="store_true", help="how many waves of a kernel a SIMD holds; the kernel is what follows")
    parser.add_argument("--wave", type=int, choices=(32, 64), help="lanes of a wave (64)")
    parser.add_argument("--vgprs", type=int, help="vector registers of the kernel")
    parser.add_argument("--sgprs", type=int, help="scalar registers of the kernel")
    parser.add_argument("--lds", type=int, help="bytes of LDS of a workgroup")
    parser.add_argument("--workgroup-size", type=int, help="invocations of a workgroup (64)")
    parser.add_argument("--cu-mode", action="store_true", help="its waves stay on one compute unit where they may use both of a pair (GFX10 on)")
    parser.add_argument("--memory", nargs="?", const="", metavar="VRAM,VISIBLE,GTT",
                        help="heaps and memory types as the driver shows them, from sizes in MiB; by default the product's memory, 256 and 8192")
    parser.add_argument("--numbering", choices=NUMBERINGS,
                        help="which RADV's order of heaps and memory types: as it is today, or as in Mesa 17 (VRAM, visible VRAM, GTT; four types)")
    parser.add_argument("--order", nargs="+", action="extend", metavar="NAME", default=[],
                        help="put the name and these, all of one generation, in the order that the rules of naming give")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


# Units of the limits of a wave, by field of WaveLimits; "flag": yes or no.
LIMIT_UNITS = {
    "lds_encoding_granule": "bytes", "lds_allocation_granule": "bytes", "lds_limit": "bytes", "physical_sgprs": "registers of a SIMD",
    "physical_vgprs": "registers of a SIMD", "sgpr_limit": "registers of a wave", "vgpr_limit": "registers of a lane",
    "sgpr_allocation_granule": "registers", "vgpr_allocation_granule": "registers", "max_waves_per_simd": "waves", "simds_per_cu": "SIMDs",
    "scratch_alloc_granule": "bytes", "scratch_offset_min": "bytes", "scratch_offset_max": "bytes", "has_fast_fma32": "flag",
    "has_16bank_lds": "flag", "xnack_enabled": "flag", "sram_ecc_enabled": "flag",
}


def support(chip_: Chip) -> dict[str, bool]:
    """Return what pyaco can do with a chip: assemble, compile and run code of it, lay out surfaces in its memory."""
    try:
        gpu_config(chip_.target)
        has_surfaces = True
    except UnsupportedError:
        has_surfaces = False
    return {"assemble": features.has_assembler(chip_.level), "compile": features.has_compiler(chip_.level), "run": features.has_emulator(chip_.level),
            "surface": has_surfaces}  # fmt: skip


def _facts(chip_: Chip) -> dict[str, Any]:
    waves = (32, 64) if features.has_wave32(chip_.level) else (64,)
    return {
        "target": chip_.target, "chip": chip_.name, "architecture": chip_.architecture, "level": chip_.level_name,
        "products": list(chip_.products), "supports": support(chip_), "wave_sizes": list(waves),
        "limits": {str(wave): wave_limits(chip_, wave).as_dict() for wave in waves},
        "limit_units": LIMIT_UNITS,
    }


def _database_entry(name: str) -> tuple[Die, Product | None] | None:
    """What the GPU database has under a product's or a chip's name."""
    try:
        product = find_product(name)
    except InputError:
        return next(((die, None) for die in dies() if die.name == name.lower()), None)
    return product.die, product


def _code_names(name: str) -> tuple[CodeName, ...]:
    try:
        return find_code_names(name)
    except InputError:
        return ()


def _structure(die: Die, product: Product | None) -> dict[str, Any]:
    family = next(f for f in families() if f.name == die.family)
    facts: dict[str, Any] = {
        "chip": die.name, "family": family.name, "code_name": die.code_name.name if die.code_name else "", "year": die.year,
        "process_nm": die.process, "package": die.dies_of_package, "direct3d": family.direct3d, "shader_model": family.shader_model,
        "mesa_driver": family.driver, "mesa_class": die.code_name.mesa_class if die.code_name else "", "shading": family.shading,
        "bus_bits": die.bus, "pci_ids": [f"{number:04x}" for number in die.pci_ids],
    }
    if die.target:
        facts |= {
            "target": die.target, "engines": die.engines, "arrays_per_engine": die.arrays, "compute_units": die.compute_units,
            "simds_per_unit": die.unit.simds, "lanes_per_simd": die.unit.lanes, "waves_per_simd": die.unit.waves,
            "scalar_alus_per_unit": die.unit.scalar_units, "texture_filter_units_per_unit": die.unit.texture_units,
            "vector_register_bytes_per_simd": die.unit.vector_registers, "scalar_register_bytes_per_simd": die.unit.scalar_registers,
            "lds_bytes_per_unit": die.unit.lds, "l0_bytes_per_unit": die.unit.l0, "render_backends": die.backends, "l2_kib": die.l2,
            "l2_slices": die.slices, "memory_controllers": die.controllers, "last_level_mib": die.last_level,
            "queues": _queues(die), "structure": _figures(structure(die)),
        }
    else:
        facts["alus_or_pipelines"] = die.alus
    if product is not None:
        facts |= {"product": product.name, "active_units": product.units, "boost_mhz": product.clock, "memory_mib": product.memory}
        facts |= {"price_at_launch_usd": product.price} if product.price else {}
        facts |= _name_facts(product.name)
        facts["peaks"] = _figures(peaks(product))
    facts["sources"] = die.sources
    return facts


def _figures(figures: tuple[Figure, ...]) -> dict[str, Any]:
    return {f.name: {"value": f.value, "unit": f.unit, "formula": f.formula, "numbers": f.numbers} for f in figures}


def _name_facts(name: str) -> dict[str, str]:
    try:
        found = decode_name(name)
    except InputError:
        return {}
    meaning = f" ({found.stands_for})" if found.stands_for else ""
    suffix = f", suffix {found.suffix}: {found.meaning}" if found.suffix else ""
    years = f"since {found.year}" if not found.until else f"{found.year}" if found.until == found.year else f"{found.year} to {found.until}"
    return {"name": f"{found.series}{meaning}, {found.generation} ({years}), {found.tier}{suffix}{_tier_prices(found)}"}


def _kind(name: Name) -> tuple[str, str, int]:
    return name.series, name.tier, len(str(name.number))


def _tier_prices(name: Name) -> str:
    """What cards of a tier cost at launch, those whose names are made alike and that the database has a price of."""
    prices = []
    for product in products():
        try:
            other = decode_name(product.name)
        except InputError:
            continue
        if product.price and _kind(other) == _kind(name):
            prices.append(product.price)
    return f", such cards ${min(prices)} to ${max(prices)} at launch" if len(prices) > 1 else ""


def _queues(die: Die) -> str:
    """The queues of a chip in words."""
    found = queues(die)
    if not found.engines:
        return f"{found.graphics} for graphics and {len(found.exposed)} for compute, all of the graphics engine"
    places = sorted({(each.engine, each.pipe) for each in found.exposed})
    of_pipe = len(found.exposed) // len(places)
    engines = "1 engine" if found.engines == 1 else f"{found.engines} engines"
    return (f"{found.graphics} for graphics; {engines} for compute of {found.pipes} pipes of {found.queues_of_pipe} queues, "
            f"of which programs get {len(found.exposed)}: {of_pipe} of {'each of ' if len(places) > 1 else ''}{len(places)} "
            f"pipe{'s' if len(places) > 1 else ''} of the first engine")  # fmt: skip


def _print_code_names(found: tuple[CodeName, ...], as_json: bool) -> None:
    """The chips that a code name stands for, with what they have in common."""
    groups = []
    for each in found:
        members = [die for die in dies() if die.name in each.chips]
        kinds = [family for family in families() if family.name in {die.family for die in members}]
        groups.append({"code_name": each.name, "year": each.year, "mesa_class": each.mesa_class, "families": [kind.name for kind in kinds],
                       "direct3d": [kind.direct3d for kind in kinds], "shader_model": [kind.shader_model for kind in kinds if kind.shader_model],
                       "mesa_driver": sorted({kind.driver for kind in kinds if kind.driver}), "chips": [die.name for die in members]})  # fmt: skip
    if as_json:
        write_text(None, json.dumps({"code_names": groups}, indent=2))
        return
    write_text(None, "\n\n".join(_describe_structure(group) for group in groups))


def _print_order(names: list[str], as_json: bool) -> None:
    """Names from slow to fast."""
    found = order_names(names)
    write_text(None, json.dumps({"order": found}, indent=2) if as_json else " < ".join(" = ".join(same) for same in found))


def _describe_structure(facts: dict[str, Any]) -> str:
    rows = []
    for name, value in facts.items():
        if isinstance(value, dict):
            rows.append(f"{name}:")
            rows += [f"  {figure}: {p['value']:,.10g} {p['unit']}".rstrip() + f" = {p['formula']} = {p['numbers']}" for figure, p in value.items()]
        elif value not in ("", []):
            rows.append(f"{name.replace('_', ' ')}: {', '.join(value) if isinstance(value, list) else value}")
    return "\n".join(rows)


def run(options: Options) -> None:
    """Print one target, or all."""
    _refuse_lone(options)
    if not options.name:
        if options.occupancy or options.memory is not None:
            raise InputError("of which chip or product? A name comes first")
        _print_all(options.json)
        return
    if options.order:
        _print_order([options.name, *options.order], options.json)
        return
    entry = _database_entry(options.name)
    try:
        chosen = chip(options.name)
    except InputError:
        if entry is None and (group := _code_names(options.name)):
            _print_code_names(group, options.json)
            return
        named = _name_facts(options.name)
        if entry is None and named:
            # Not in the database, but its name says something.
            write_text(None, json.dumps(named, indent=2) if options.json else f"name: {named['name']} (not in the database)")
            return
        if entry is None:
            raise
        chosen = None
    if chosen is None and entry is not None and entry[0].target:
        chosen = entry[0].chip
    if options.occupancy:
        _print_occupancy(options, chosen)
        return
    if options.memory is not None:
        _print_memory(options, chosen, entry)
        return
    facts: dict[str, Any] = {} if chosen is None else _facts(chosen)
    if entry is not None:
        facts["database"] = _structure(*entry)
    if options.json:
        write_text(None, json.dumps(facts, indent=2))
    else:
        parts = ([_describe(chosen)] if chosen else []) + ([_describe_structure(facts["database"])] if entry else [])
        write_text(None, "\n".join(parts))


def _refuse_lone(options: Options) -> None:
    """Raise InputError if an option is given without the one that it is about."""
    kernel = ("wave", "vgprs", "sgprs", "lds", "workgroup_size", "cu_mode")
    for name in kernel if not options.occupancy else ():
        if (value := getattr(options, name)) is not None and value is not False:
            raise InputError(f"--{name.replace('_', '-')} describes the kernel of --occupancy, which is not given")
    if options.numbering is not None and options.memory is None:
        raise InputError("--numbering says how --memory numbers, which is not given")


def _print_occupancy(options: Options, chosen: Chip | None) -> None:
    """How many waves of the kernel that the options describe run at once, and what each need alone would allow."""
    if chosen is None:
        raise UnsupportedError(f"occupancy on {options.name}: chips before GCN have no waves")
    wave, size = (64 if value is None else value for value in (options.wave, options.workgroup_size))
    kernel = {"vgprs": options.vgprs or 0, "sgprs": options.sgprs or 0, "lds_bytes": options.lds or 0, "workgroup_size": size}
    wgp_mode = features.has_wgp_mode(chosen.level) and not options.cu_mode
    waves = occupancy(chosen, wave=wave, wgp_mode=wgp_mode, **kernel)
    alone = {name: occupancy(chosen, wave=wave, wgp_mode=wgp_mode, **({"workgroup_size": size} | {name: value})) for name, value in kernel.items()}
    most = wave_limits(chosen, wave).max_waves_per_simd
    facts = {"target": chosen.target, "wave": wave, "wgp_mode": wgp_mode, **kernel, "waves_per_simd": waves, "most_waves_per_simd": most,
             "lanes_per_simd": waves * wave, "waves_by_one_need": alone}
    if options.json:
        write_text(None, json.dumps(facts, indent=2))
        return
    rows = [f"{chosen.target}, wave{wave}: {waves} of {most} waves a SIMD, {waves * wave} invocations"]
    rows += [f"  {name.replace('_', ' ')} {kernel[name]}: {count}" for name, count in alone.items()]
    write_text(None, "\n".join(rows))


# What applications ask memory for, and which properties they ask with.
_USES = (
    ("images and buffers of the device", MemoryProperty.DEVICE_LOCAL, MemoryProperty(0)),
    ("uploads", MemoryProperty.HOST_VISIBLE | MemoryProperty.HOST_COHERENT, MemoryProperty(0)),
    ("data that the host writes in every frame", MemoryProperty.HOST_VISIBLE, MemoryProperty.DEVICE_LOCAL),
    ("results that the host reads", MemoryProperty.HOST_VISIBLE, MemoryProperty.HOST_CACHED),
)


def _memory_sizes(text: str, product: Product | None) -> tuple[int, int, int]:
    if not text:
        vram = product.memory if product is not None else 0
        return vram, min(256, vram), 8192
    try:
        vram, visible, gtt = (int(word) for word in text.split(","))
    except ValueError:
        raise InputError(f"{text!r}: expected three sizes in MiB, VRAM,VISIBLE,GTT") from None
    return vram, visible, gtt


def _print_memory(options: Options, chosen: Chip | None, entry: tuple[Die, Product | None] | None) -> None:
    """Heaps, memory types, and the type that each use gets."""
    if chosen is None:
        raise UnsupportedError(f"memory types of {options.name}: chips before GCN have no such driver")
    product = entry[1] if entry is not None and entry[0].has_own_memory else None
    vram, visible, gtt = (size << 20 for size in _memory_sizes(options.memory, product))
    die = entry[0] if entry is not None else next((die for die in dies() if die.target == chosen.target), None)
    if die is None:
        raise UnsupportedError(f"memory types of {options.name}: no chip with this name is known")
    heaps, types = memory_heaps(chosen.level, vram, visible, gtt, dedicated=die.has_own_memory, numbering=options.numbering or NUMBERINGS[0])
    uses = {name: choose_memory_type(types, required, preferred) for name, required, preferred in _USES
            if any(required & ~kind.properties == 0 for kind in types)}
    if options.json:
        write_text(None, json.dumps({
            "heaps": [{"name": heap.name, "size": heap.size, "device_local": heap.device_local} for heap in heaps],
            "types": [{"name": kind.name, "heap": kind.heap, "properties": _properties(kind.properties), "low_addresses": kind.low_addresses}
                      for kind in types],
            "uses": uses}, indent=2))
        return
    rows = [f"heap {index}: {heap.name}, {heap.size:,} bytes{', device-local' if heap.device_local else ''}" for index, heap in enumerate(heaps)]
    rows += [f"type {index}: heap {kind.heap}, {kind.name}{', 32-bit addresses' if kind.low_addresses else ''}: "
             f"{', '.join(_properties(kind.properties))}" for index, kind in enumerate(types)]
    rows += [f"for {name}: type {index}" for name, index in uses.items()]
    write_text(None, "\n".join(rows))


def _properties(properties: MemoryProperty) -> list[str]:
    return [(each.name or "").lower().replace("_", "-") for each in properties]


def _print_all(as_json: bool) -> None:
    if as_json:
        write_text(None, json.dumps({"targets": [_facts(c) for c in chips()], "chips": [_structure(die, None) for die in dies()],
                                     "products": [_structure(p.die, p) for p in products()]}, indent=2))
        return
    listed = [_row("target", "chip", "family", "level", list(support(chips()[0])), "products")]
    listed += [_row(c.target, c.name, c.architecture, c.level_name, ["yes" if able else "-" for able in support(c).values()], ", ".join(c.products))
               for c in chips()]
    known = [f"{die.name:<14} {die.family:<12} {die.year}  {die.target}" for die in dies()]
    write_text(None, "\n".join(["targets, and what is possible with each:", *listed, "", "chips of the database:", *known]))


def _row(target: str, name: str, architecture: str, level: str, abilities: list[str], products: str) -> str:
    return f"{target:<8} {name:<13} {architecture:<8} {level:<8} {' '.join(f'{word:<8}' for word in abilities)} {products}".rstrip()


def _describe(chip_: Chip) -> str:
    facts = _facts(chip_)
    rows = [
        f"{chip_.target} ({chip_.name}, {chip_.architecture}, {chip_.level_name})",
        *([f"products: {', '.join(chip_.products)}"] if chip_.products else []),
        f"possible: {', '.join(name for name, able in facts['supports'].items() if able)}",
    ]
    for wave, limits in facts["limits"].items():
        rows.append(f"wave{wave}:")
        rows += [f"  {name.replace('_', ' ')}: {_with_unit(value, LIMIT_UNITS[name])}" for name, value in limits.items()]
    return "\n".join(rows)


def _with_unit(value: int, unit: str) -> str:
    return ("yes" if value else "no") if unit == "flag" else f"{value} {unit}"
