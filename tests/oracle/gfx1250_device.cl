// What only the device has, for test_emu_gfx1250.py: matrices, copies to LDS, clusters.
typedef half h16 __attribute__((ext_vector_type(16)));
typedef float f8 __attribute__((ext_vector_type(8)));
typedef int i8 __attribute__((ext_vector_type(8)));
#define KERNEL __attribute__((reqd_work_group_size(32, 1, 1))) kernel void

KERNEL halves(global const h16 *a, global const h16 *b, global f8 *c)
{
    int lane = __builtin_amdgcn_workitem_id_x();
    c[lane] = __builtin_amdgcn_wmma_f32_16x16x32_f16(0, a[lane], 0, b[lane], 0, c[lane], 0, 0);
}

KERNEL bytes(global const i8 *a, global const i8 *b, global i8 *c)
{
    int lane = __builtin_amdgcn_workitem_id_x();
    c[lane] = __builtin_amdgcn_wmma_i32_16x16x64_iu8(1, a[lane], 1, b[lane], c[lane], 0, 0);
}

__attribute__((reqd_work_group_size(64, 1, 1))) kernel void copies(global int *in, global int *out)
{
    local int held[64];
    int item = __builtin_amdgcn_workitem_id_x(), group = __builtin_amdgcn_workgroup_id_x();
    __builtin_amdgcn_global_load_async_to_lds_b32(in + 64 * group + item, held + 63 - item, 0, 0);
    __builtin_amdgcn_s_wait_asynccnt(0);
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    out[64 * group + item] = held[item] + (int)__builtin_amdgcn_cluster_workgroup_max_flat_id() + (int)__builtin_amdgcn_cluster_workgroup_flat_id();
}
