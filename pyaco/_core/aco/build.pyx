"""Building ACO IR from Python, for the text reader and tests. Not used where speed matters.

Operands are tuples ``(data, reg, register_class, flags)``, definitions ``(temp, reg, register_class, flags)``: the columns of
the data sheet. Instructions must be added block after block.
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t, uint8_t

from pyaco._core.aco.occupancy cimport (
    addressable_sgprs, addressable_vgprs, min_waves, sgpr_allocation, vgpr_allocation, waves_of_demand,
)
from pyaco._core.aco.queries cimport tied_operand
from pyaco._core.common.table cimport table_append, table_reserve, table_truncate
from pyaco._core.ir.program cimport (
    Definition, Operand, Program, ProgramData, block_new, class_s1, class_s2, definition_put, edge_add, edge_linear,
    edge_logical, edges_finish, instruction_new, operand_c16, operand_c32, operand_c64, operand_c8, operand_literal32,
    operand_put, progress_after_isel,
)


def new_program(uint32_t gfx_level, uint32_t wave_size, uint32_t workgroup_size=0xffffffffU, bint wgp_mode=False):
    """Return an empty program for a gfx level (``gfx_level`` of the data sheet, e.g. 103)."""
    cdef Program program = Program()
    program.data.gfx_level = gfx_level
    program.data.wave_size = wave_size
    program.data.workgroup_size = workgroup_size
    program.data.wgp_mode = wgp_mode
    program.data.lane_mask = class_s1 if wave_size == 32 else class_s2
    program.data.progress = progress_after_isel
    return program


def set_device(Program program not None, **fields):
    """Fill fields of ``DeviceInfo`` by name."""
    cdef dict device = program.data.device
    device.update(fields)
    program.data.device = device


def set_progress(Program program not None, uint32_t progress):
    """Set how far the program is compiled (``progress_*``)."""
    program.data.progress = progress


def progress(Program program not None):
    """Return how far the program is compiled (``progress_*``)."""
    return program.data.progress


def set_stage(Program program not None, uint32_t software, uint32_t hardware):
    """Set the program's stage (``software_stage_*``, ``hardware_stage_*``)."""
    program.data.software_stage = software
    program.data.hardware_stage = hardware


def stage(Program program not None):
    """Return the program's software and hardware stage."""
    return program.data.software_stage, program.data.hardware_stage


def summary(Program program not None):
    """Return the scalars of a program as a dict."""
    return {
        "gfx_level": program.data.gfx_level, "wave_size": program.data.wave_size,
        "workgroup_size": program.data.workgroup_size, "wgp_mode": program.data.wgp_mode,
        "lane_mask": program.data.lane_mask, "max_demand_sgpr": program.data.max_demand_sgpr,
        "max_demand_vgpr": program.data.max_demand_vgpr, "num_waves": program.data.num_waves,
        "max_waves": program.data.max_waves, "progress": program.data.progress, "device": program.data.device,
    }


def waves(Program program not None, uint32_t sgprs, uint32_t vgprs):
    """Return how many waves fit on a SIMD at a register demand; 0 where registers would have to be spilled."""
    return waves_of_demand(&program.data, sgprs, vgprs)


def set_demand(Program program not None, uint32_t sgprs, uint32_t vgprs, uint32_t lds_bytes):
    """Say what an allocated program needs, of which its text says nothing: registers and waves follow, and the estimate of throughput from these."""
    cdef ProgramData *p = &program.data
    p.config.num_sgprs = sgpr_allocation(p, sgprs)
    p.config.num_vgprs = vgpr_allocation(p, vgprs)
    p.config.lds_bytes = lds_bytes
    p.num_waves = <uint16_t>waves_of_demand(p, sgprs, vgprs)


def register_limits(Program program not None, uint32_t waves=0):
    """Return how many SGPRs and VGPRs a program may name where so many waves are to fit; 0: as few as a workgroup needs."""
    waves = max(waves, min_waves(&program.data))
    return addressable_sgprs(&program.data, waves), addressable_vgprs(&program.data, waves)


def tied(Program program not None, uint32_t instruction):
    """Return which operand of an instruction must be in the register of its definition, or -1."""
    if instruction >= program.data.instructions.table.count:
        raise IndexError(f"no instruction {instruction}")
    return tied_operand(&program.data, instruction)


def add_temps(Program program not None, classes):
    """Append temps of the given register classes (zero: an unused id)."""
    cdef uint32_t temp
    for register_class in classes:
        temp = table_append(&program.data.temps.table)
        program.data.temps.register_class[temp] = register_class


def add_block(Program program not None, uint32_t kind, uint16_t fp_mode, uint16_t loop_depth=0, uint16_t uniform_if_depth=0,
              uint16_t divergent_if_depth=0):
    """Append a block and return its index."""
    cdef uint32_t block = block_new(&program.data, kind)
    program.data.blocks.fp_mode[block] = fp_mode
    program.data.blocks.loop_depth[block] = loop_depth
    program.data.blocks.uniform_if_depth[block] = uniform_if_depth
    program.data.blocks.divergent_if_depth[block] = divergent_if_depth
    program.data.blocks.order_first[block] = program.data.order.table.count
    return block


def add_edge(Program program not None, bint linear, uint32_t predecessor, uint32_t successor):
    """Append an edge; edges of a successor are the order of its phi operands."""
    edge_add(&program.data, edge_linear if linear else edge_logical, predecessor, successor)


def finish_edges(Program program not None):
    """Make the edge lists."""
    edges_finish(&program.data)


def add_instruction(Program program not None, uint32_t block, uint16_t opcode, uint16_t format, definitions, operands,
                    uint64_t modifiers=0, uint32_t immediate=0):
    """Append an instruction to the last block and return its index."""
    cdef ProgramData *p = &program.data
    cdef uint32_t instruction = instruction_new(p, opcode, format, len(operands), len(definitions))
    cdef uint32_t k
    cdef Operand o
    cdef Definition d
    if block + 1 != p.blocks.table.count:
        raise ValueError("instructions are added to the last block")
    for k, (data, reg, register_class, flags) in enumerate(operands):
        o.data = data
        o.reg = reg
        o.register_class = register_class
        o.flags = flags
        operand_put(p, p.instructions.operand_first[instruction] + k, o)
    for k, (temp, reg, register_class, flags) in enumerate(definitions):
        d.temp = temp
        d.reg = reg
        d.register_class = register_class
        d.flags = flags
        definition_put(p, p.instructions.definition_first[instruction] + k, d)
    p.instructions.modifiers[instruction] = modifiers
    p.instructions.immediate[instruction] = immediate
    table_reserve(&p.order.table, 1)
    p.order.instruction[p.order.table.count] = instruction
    p.order.table.count += 1
    p.blocks.order_count[block] += 1
    return instruction


def constant(uint64_t value, uint32_t size, bint literal=False):
    """Return the operand tuple of a constant of 1, 2, 4 or 8 bytes; an inline constant unless `literal`."""
    cdef Operand o
    if size == 1:
        o = operand_c8(<uint32_t>value)
    elif size == 2:
        o = operand_c16(<uint32_t>value)
        if literal:
            o.reg = 255 * 4
    elif size == 8:
        o = operand_c64(value)
        if literal:
            o.reg = 255 * 4
    else:
        o = operand_literal32(<uint32_t>value) if literal else operand_c32(<uint32_t>value)
    return o.data, o.reg, o.register_class, o.flags


def set_constant_data(Program program not None, bytes data):
    """Replace the constant data."""
    cdef uint8_t value
    cdef uint32_t position
    table_truncate(&program.data.constant_data.table, 0)
    for value in data:
        position = table_append(&program.data.constant_data.table)
        program.data.constant_data.byte[position] = value
