#version 450
// Returns out of nested loops and branches, from main and from functions, with different lanes leaving at different times.
layout(local_size_x = 64) in;

layout(set = 0, binding = 0) readonly buffer Table { uint table[]; };
layout(set = 0, binding = 1) buffer Results { uint results[]; };
layout(push_constant) uniform Parameters { uint count; uint table_size; };

uint search(uint wanted)
{
    uint low = 0, high = table_size;
    while (low < high) {
        uint middle = (low + high) / 2;
        uint here = table[middle];
        if (here == wanted)
            return middle;
        if (here < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return 0x80000000u | low;
}

uint first_pair(uint target)
{
    for (uint i = 0; i < 20; ++i) {
        if (table[i] > target)
            return 1000 + i;
        for (uint j = i + 1; j < 20; ++j)
            if (table[i] + table[j] == target)
                return i * 32 + j;
    }
    return 0xffffu;
}

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= count)
        return;
    uint wanted = results[i];
    if (wanted == 0) {
        results[i] = 0xdeadu;
        return;
    }
    uint found = search(wanted);
    if ((found & 0x80000000u) == 0) {
        results[i] = found;
        if (found < 10)
            return;
        results[i] += 5000;
        return;
    }
    for (uint round = 0; round < 4; ++round) {
        uint pair = first_pair(wanted + round);
        if (pair < 1000) {
            results[i] = pair << 8 | round;
            return;
        }
    }
    results[i] = found;
}
