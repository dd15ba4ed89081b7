// Kernels with arguments of several kinds, LDS, scratch and atomics, for the tests of code objects.
#define DIMENSIONS(name) static uint name(int d) { return d == 0 ? __builtin_amdgcn_##name##_x() : d == 1 ? __builtin_amdgcn_##name##_y() : __builtin_amdgcn_##name##_z(); }
DIMENSIONS(workitem_id)
DIMENSIONS(workgroup_id)
DIMENSIONS(workgroup_size)
DIMENSIONS(grid_size)
#define get_local_id workitem_id
#define get_group_id workgroup_id
#define get_local_size workgroup_size
#define get_global_size grid_size
#define get_num_groups(d) (grid_size(d) / workgroup_size(d))
#define get_global_id(d) (workgroup_id(d) * workgroup_size(d) + workitem_id(d))
// hidden_grid_dims, behind block counts, group sizes, remainders and global offsets
#define get_work_dim() (uint)(*(__constant ushort *)((__constant char *)__builtin_amdgcn_implicitarg_ptr() + 64))

static void workgroup_barrier(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__kernel void scale(__global float *data, float factor, int offset)
{
    int i = get_global_id(0);
    data[i] = data[i] * factor + (float)(offset + (int)get_local_id(0));
}

__kernel void transpose(__global const uint *in, __global uint *out, uint width)
{
    __local uint tile[16][17];
    uint x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
    tile[ly][lx] = in[y * width + x];
    workgroup_barrier();
    out[(get_group_id(0) * 16 + ly) * width + get_group_id(1) * 16 + lx] = tile[lx][ly];
}

__kernel void sizes(__global uint *out)
{
    uint i = get_global_id(0) + get_global_size(0) * (get_global_id(1) + get_global_size(1) * get_global_id(2));
    out[4 * i] = get_global_size(0) | get_global_size(1) << 8 | get_global_size(2) << 16;
    out[4 * i + 1] = get_local_size(0) | get_local_size(1) << 8 | get_local_size(2) << 16;
    out[4 * i + 2] = get_num_groups(0) | get_num_groups(1) << 8 | get_num_groups(2) << 16;
    out[4 * i + 3] = get_work_dim() | (uint)get_local_id(2) << 8 | (uint)get_group_id(1) << 16;
}

__kernel void stack(__global const uint *in, __global uint *out, ulong bias)
{
    volatile uint table[16];
    uint i = get_global_id(0);
    for (uint k = 0; k < 16; k++)
        table[(k * 5 + in[i]) & 15] = k + (uint)bias;
    out[i] = table[in[i] & 15] * 100 + table[(in[i] + i) & 15];
}

__kernel void histogram(__global const uchar *in, __global uint *bins, uint count)
{
    __local uint mine[256];
    for (uint k = get_local_id(0); k < 256; k += get_local_size(0))
        mine[k] = 0;
    workgroup_barrier();
    for (uint i = get_global_id(0); i < count; i += get_global_size(0))
        __opencl_atomic_fetch_add((__local atomic_uint *)&mine[in[i]], 1u, memory_order_relaxed, memory_scope_work_group);
    workgroup_barrier();
    for (uint k = get_local_id(0); k < 256; k += get_local_size(0))
        __opencl_atomic_fetch_add((__global atomic_uint *)&bins[k], mine[k], memory_order_relaxed, memory_scope_device);
}

__kernel void through_flat(__global uint *data, __local uint *dynamic, uint which)
{
    uint l = get_local_id(0);
    uint *pointer = which ? (uint *)(data + get_global_id(0)) : (uint *)(dynamic + l);
    dynamic[l] = l * 3;
    workgroup_barrier();
    uint value = *pointer;
    data[get_global_id(0)] = value + 1;
}

// A workgroup's own size: hidden_block_count counts the whole ones, behind it are hidden_group_size and hidden_remainder.
static uint own_size(int d)
{
    __constant char *hidden = (__constant char *)__builtin_amdgcn_implicitarg_ptr();
    return ((__constant ushort *)(hidden + (get_group_id(d) < ((__constant uint *)hidden)[d] ? 12 : 18)))[d];
}

// With workgroups of 16 x 4: how large this one is, and where in its wave the work-item is.
__kernel void parts(__global uint *out)
{
    uint x = get_group_id(0) * 16 + get_local_id(0), y = get_group_id(1) * 4 + get_local_id(1);
    uint lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
    out[y * get_global_size(0) + x] = own_size(0) | own_size(1) << 8 | lane << 16;
}
