#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_ARB_gpu_shader_int64 : require
// target: vulkan1.2
// Device addresses: a table of pointers in push constants, linked nodes walked by divergent lanes, address arithmetic,
// aligned and unaligned vector loads, atomics through a pointer.
layout(local_size_x = 32) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Words { uint word; };
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer Vectors { vec4 vectors[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Triples { vec3 triples[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Node { uint next; uint weight; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Output { vec4 sums[]; };

layout(push_constant, scalar) uniform Parameters {
    Node nodes;
    Vectors vectors;
    Triples triples;
    Output result;
    uint64_t counters;
    uint count;
};

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= count)
        return;
    uint at = i, total = 0, steps = 0;
    while (at != 0xffffffffu && steps < 10) {
        Node node = nodes + at;
        total += node.weight;
        at = node.next;
        ++steps;
    }
    vec4 sum = vectors.vectors[i] + vec4(triples.triples[i % 7], float(total));
    result.sums[i] = sum;
    Words counter = Words(counters + 4ul * uint64_t(total & 3u));
    atomicAdd(counter.word, steps);
    Words own = Words(counters + 16ul) + i;
    own.word = total;
}
