#version 450
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_KHR_memory_scope_semantics : require
// target: vulkan1.2
// Atomic operations of all kinds on buffers and shared memory, 32 and 64 bits. The results are made independent of order:
// sums, extremes and logical operations accumulate; exchanges and compare-and-swaps own their slot or retry.
layout(local_size_x = 64) in;

layout(set = 0, binding = 0) readonly buffer Values { uint values[]; };
layout(set = 0, binding = 1) buffer Words { uint words[16]; };
layout(set = 0, binding = 2) buffer Wide { uint64_t wide[8]; };
layout(set = 0, binding = 3) buffer Slots { uint slots[]; };

shared uint local_words[8];
shared uint64_t local_wide[4];
shared int local_signed[2];

void main()
{
    uint lane = gl_LocalInvocationIndex;
    uint i = gl_GlobalInvocationID.x;
    uint value = values[i];
    if (lane < 8)
        local_words[lane] = lane == 2 || lane == 4 ? 0xffffffffu : 0;
    if (lane < 4)
        local_wide[lane] = lane == 1 ? 0xfffffffffffffffful : 0ul;
    if (lane < 2)
        local_signed[lane] = 0;
    barrier();

    atomicAdd(words[0], value & 0xfffu);
    atomicMin(words[1], value);
    atomicMax(words[2], value);
    atomicAnd(words[3], value | 0x0f0f0f0fu);
    atomicOr(words[4], value & 0x11111111u);
    atomicXor(words[5], value);
    atomicAdd(words[6 + (value & 1)], 1);
    atomicAdd(words[8], uint(-int(value & 7u)));
    uint previous = atomicExchange(slots[i], value);
    atomicAdd(words[9], previous);
    uint seen = atomicCompSwap(slots[128 + i], i & 3, value);
    slots[256 + i] = seen;

    atomicAdd(wide[0], uint64_t(value) << 8);
    atomicMax(wide[1], uint64_t(value) << 20 | 5ul);
    atomicMin(wide[2], uint64_t(value) << 20);
    atomicOr(wide[3], 1ul << (value & 63u));
    atomicXor(wide[4], uint64_t(value) * 0x100000001ul);

    // A float maximum by compare-and-swap, as programs do without the extension for it.
    float candidate = float(value >> 8) * 0.001;
    uint expected = words[10];
    while (uintBitsToFloat(expected) < candidate) {
        uint found = atomicCompSwap(words[10], expected, floatBitsToUint(candidate));
        if (found == expected)
            break;
        expected = found;
    }

    atomicAdd(local_words[0], value);
    atomicMax(local_words[1], value);
    atomicMin(local_words[2], value);
    atomicOr(local_words[3], 1u << (value & 31u));
    atomicAnd(local_words[4], value | 0xff00ff00u);
    atomicXor(local_words[5], value * 3u);
    atomicMax(local_signed[0], int(value));
    atomicMin(local_signed[1], int(value));
    atomicAdd(local_wide[0], uint64_t(value) << 30);
    atomicMin(local_wide[1], uint64_t(value) << 3);
    uint ticket = atomicAdd(local_words[6], 1);
    atomicAdd(local_words[7], ticket);
    barrier();

    if (lane < 8)
        atomicAdd(slots[384 + lane], local_words[lane]);
    if (lane < 4)
        atomicXor(slots[392 + lane], uint(local_wide[lane] >> 16));
    if (lane < 2)
        atomicXor(slots[396 + lane], uint(local_signed[lane]));
}
