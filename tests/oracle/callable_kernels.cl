// Kernels with arguments of every kind, for tests that call them from Python.
typedef unsigned uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define SIZE __builtin_amdgcn_workgroup_size_x()
#define ITEM (__builtin_amdgcn_workgroup_id_x() * SIZE + __builtin_amdgcn_workitem_id_x())
typedef float float2 __attribute__((ext_vector_type(2)));
typedef struct { int first; float second; char third[3]; } Three;

kernel void mixed(global const float *x, global float *out, char c, ushort s, int i, ulong l, float f, double d, float2 pair, Three three)
{
    uint item = ITEM;
    out[item] = x[item] + c + s + i + (float)l + f + (float)d + pair.x * pair.y + three.first + three.second + three.third[2];
}

kernel void locals(global uint *out, local uint *first, local ulong *second, uint count)
{
    uint item = __builtin_amdgcn_workitem_id_x();
    first[item] = item;
    second[item] = item * 3;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    uint other = (item + 1) % count;
    out[ITEM] = first[other] + (uint)second[other] * 100;
}
