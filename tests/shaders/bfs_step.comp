#version 450
// One step of breadth-first search: unvisited neighbours of the frontier are claimed by compare-and-swap and appended.
layout(local_size_x = 64) in;

layout(set = 0, binding = 0) readonly buffer Offsets { uint offsets[]; };
layout(set = 0, binding = 1) readonly buffer Edges { uint edges[]; };
layout(set = 0, binding = 2) readonly buffer Frontier { uint frontier_size; uint frontier[]; };
layout(set = 0, binding = 3) buffer Levels { uint levels[]; };
layout(set = 0, binding = 4) buffer Next { uint next[]; };
layout(set = 0, binding = 5) buffer Counters { uint next_size; uint edges_seen; uint highest_degree; };
layout(push_constant) uniform Parameters { uint level; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= frontier_size)
        return;
    uint node = frontier[i];
    uint begin = offsets[node], end = offsets[node + 1];
    for (uint j = begin; j < end; ++j) {
        uint neighbour = edges[j];
        if (atomicCompSwap(levels[neighbour], 0xffffffffu, level) == 0xffffffffu)
            next[atomicAdd(next_size, 1)] = neighbour;
    }
    atomicAdd(edges_seen, end - begin);
    atomicMax(highest_degree, end - begin);
}
