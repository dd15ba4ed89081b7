#version 450
// Classification for marching cubes: the case index of each cell, its number of crossed edges, and compacted active cells.
layout(local_size_x = 4, local_size_y = 4, local_size_z = 4) in;

layout(set = 0, binding = 0) readonly buffer Field { float field[]; };
layout(set = 0, binding = 1) writeonly buffer Classes { uint classes[]; };
layout(set = 0, binding = 2) buffer Active { uint active_cells[]; };
layout(set = 0, binding = 3) buffer Counters { uint active_count; uint edge_total; };
layout(push_constant) uniform Parameters { uvec3 size; float level; };

// The two corners of each of the twelve edges of a cell, corner i at (i & 1, i >> 1 & 1, i >> 2).
const uint edge_corners[12] = uint[12](0x01u, 0x23u, 0x45u, 0x67u, 0x02u, 0x13u, 0x46u, 0x57u, 0x04u, 0x15u, 0x26u, 0x37u);

void main()
{
    uvec3 id = gl_GlobalInvocationID;
    if (any(greaterThanEqual(id, size - 1u)))
        return;
    uint index = 0;
    for (uint corner = 0; corner < 8; ++corner) {
        uvec3 at = id + uvec3(corner & 1, (corner >> 1) & 1, corner >> 2);
        if (field[(at.z * size.y + at.y) * size.x + at.x] > level)
            index |= 1u << corner;
    }
    uint edges = 0;
    for (uint edge = 0; edge < 12; ++edge) {
        uint corners = edge_corners[edge];
        uint differs = (index >> (corners >> 4)) ^ (index >> (corners & 15u));
        edges |= (differs & 1u) << edge;
    }
    uint cell = (id.z * (size.y - 1) + id.y) * (size.x - 1) + id.x;
    classes[cell] = index | edges << 8;
    if (index != 0 && index != 255) {
        active_cells[atomicAdd(active_count, 1)] = cell;
        atomicAdd(edge_total, uint(bitCount(edges)));
    }
}
