#version 450
// Stable least-significant-digit radix sort of 256 keys and values in one workgroup, 4 bits a pass. Each invocation owns
// 4 consecutive elements; ranks come from per-invocation digit counts scanned in digit-major order.
const uint width = 64;
const uint each = 4;
const uint count = width * each;
layout(local_size_x = width) in;

layout(set = 0, binding = 0) buffer Keys { uint keys[]; };
layout(set = 0, binding = 1) buffer Values { uint values[]; };
layout(push_constant) uniform Parameters { uint first_bit, last_bit; };

shared uint key[count];
shared uint value[count];
shared uint counts[16 * width];
shared uint sums[width];

void main()
{
    uint lane = gl_LocalInvocationIndex;
    uint first = gl_WorkGroupID.x * count;
    for (uint i = lane; i < count; i += width) {
        key[i] = keys[first + i];
        value[i] = values[first + i];
    }
    barrier();

    for (uint bit = first_bit; bit < last_bit; bit += 4) {
        uint own_key[each], own_value[each];
        for (uint digit = 0; digit < 16; ++digit)
            counts[digit * width + lane] = 0;
        for (uint i = 0; i < each; ++i) {
            own_key[i] = key[lane * each + i];
            own_value[i] = value[lane * each + i];
            counts[bitfieldExtract(own_key[i], int(bit), 4) * width + lane]++;
        }
        barrier();

        // Exclusive prefix sum over 16 * width counts: 16 in each invocation, then over the invocations.
        uint sum = 0;
        for (uint i = 0; i < 16; ++i) {
            uint here = counts[lane * 16 + i];
            counts[lane * 16 + i] = sum;
            sum += here;
        }
        sums[lane] = sum;
        barrier();
        for (uint step_size = 1; step_size < width; step_size <<= 1) {
            uint left = lane >= step_size ? sums[lane - step_size] : 0;
            barrier();
            sums[lane] += left;
            barrier();
        }
        uint before = sums[lane] - sum;
        for (uint i = 0; i < 16; ++i)
            counts[lane * 16 + i] += before;
        barrier();

        for (uint i = 0; i < each; ++i) {
            uint slot = bitfieldExtract(own_key[i], int(bit), 4) * width + lane;
            uint to = counts[slot];
            counts[slot] = to + 1;
            key[to] = own_key[i];
            value[to] = own_value[i];
        }
        barrier();
    }

    for (uint i = lane; i < count; i += width) {
        keys[first + i] = key[i];
        values[first + i] = value[i];
    }
}
