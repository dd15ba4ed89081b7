#version 450
// Sorts 256 keys with their indices in shared memory by a bitonic network; equal keys are ordered by index.
layout(local_size_x = 128) in;

layout(set = 0, binding = 0) buffer Keys { float keys[]; };
layout(set = 0, binding = 1) writeonly buffer Order { uint order[]; };
layout(push_constant) uniform Parameters { uint descending; };

shared float key[256];
shared uint index[256];

bool comes_after(uint i, uint j)
{
    if (key[i] == key[j])
        return index[i] > index[j];
    return descending != 0 ? key[i] < key[j] : key[i] > key[j];
}

void main()
{
    uint lane = gl_LocalInvocationIndex;
    uint first = gl_WorkGroupID.x * 256;
    for (uint i = lane; i < 256; i += 128) {
        key[i] = keys[first + i];
        index[i] = i;
    }
    barrier();

    for (uint block = 2; block <= 256; block *= 2) {
        for (uint stride = block / 2; stride > 0; stride /= 2) {
            uint i = 2 * lane - (lane & (stride - 1));
            uint j = i + stride;
            bool ascending = (i & block) == 0;
            if (comes_after(i, j) == ascending) {
                float swapped_key = key[i];
                key[i] = key[j];
                key[j] = swapped_key;
                uint swapped_index = index[i];
                index[i] = index[j];
                index[j] = swapped_index;
            }
            barrier();
        }
    }

    for (uint i = lane; i < 256; i += 128) {
        keys[first + i] = key[i];
        order[first + i] = index[i];
    }
}
