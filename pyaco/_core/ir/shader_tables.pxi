# The tables of a shader whose columns Python sees, in one order.
cdef enum:
    table_count = 12


cdef Table *_table(ShaderData *s, int index) noexcept nogil:
    cdef (Table *)[table_count] tables
    tables[0] = &s.instructions.table
    tables[1] = &s.sources.table
    tables[2] = &s.constants.table
    tables[3] = &s.indices.table
    tables[4] = &s.nodes.table
    tables[5] = &s.order.table
    tables[6] = &s.types.table
    tables[7] = &s.members.table
    tables[8] = &s.variables.table
    tables[9] = &s.arguments.table
    tables[10] = &s.constant_data.table
    tables[11] = &s.textures.table
    return tables[index]
