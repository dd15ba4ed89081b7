// Kernels with a planted defect each, at the line that bears its name in a comment; and how they are without it.
typedef unsigned uint;
#define LX __builtin_amdgcn_workitem_id_x()
#define ITEM (__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + LX)

#define BARRIER() __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"), __builtin_amdgcn_s_barrier(), __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup")

kernel void stray(global const uint *in, global uint *out)
{
    uint value = in[ITEM];
    out[ITEM * 1000] = value;                               // DEFECT stray
}

kernel void beyond_lds(global uint *out, local uint *tile)
{
    tile[LX] = LX;
    BARRIER();
    out[ITEM] = tile[LX + 1];                               // DEFECT beyond_lds
}

kernel void misaligned(global char *out)
{
    __opencl_atomic_fetch_add((global atomic_uint *)(out + 2), 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE); // DEFECT misaligned
}

kernel void race_in_lds(global uint *out)
{
    local uint tile[256];
    tile[LX] = LX;
    out[ITEM] = tile[LX ^ 128];                             // DEFECT race_in_lds
}

kernel void race_in_memory(global uint *out)
{
    out[0] = ITEM;                                          // DEFECT race_in_memory
}

kernel void same_value(global uint *out)
{
    out[LX & 63] = 7;
}

kernel void lost_wave(global uint *out, uint count)
{
    if (LX >= count)
        return;
    local uint tile[256];
    tile[LX] = LX;
    BARRIER();                                              // DEFECT lost_wave
    out[ITEM] = tile[LX];
}

kernel void unwritten_lds(global uint *out, uint count)
{
    local uint tile[256];
    if (LX < count)
        tile[LX] = LX;
    BARRIER();
    out[ITEM] = tile[LX] + 1;                               // DEFECT unwritten_lds
}

kernel void unwritten_stack(global uint *out, uint count)
{
    volatile uint table[16];
    for (uint i = 0; i < count; i++)
        table[i] = i;
    uint index = table[LX & 15];
    out[index % 200] = 1;                                   // DEFECT unwritten_stack
}

kernel void clean(global uint *out, local uint *tile)
{
    tile[LX] = LX;
    BARRIER();
    out[ITEM] = tile[LX ^ 128];
}
