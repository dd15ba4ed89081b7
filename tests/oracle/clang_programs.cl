// What programs have beside kernels: functions that are called, tables, globals, jumps by value, inline assembly with labels of its own.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
typedef unsigned uint;
typedef unsigned long ulong;
#define KERNEL kernel void
#define ITEM (__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x())

constant float table[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
constant int squares[] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81};
global int counter = 7;
global int zeros[64];

__attribute__((noinline)) static float helper(float x, int n)
{
    for (int i = 0; i < n; i++)
        x = x * x + table[i & 15];
    return x;
}
__attribute__((noinline)) float visible(float x, global float *p) { return helper(x, (int)p[3]) + p[1]; }
KERNEL calls(global float *p, int n) { p[ITEM] = helper(p[ITEM], n) + visible(p[ITEM + 1], p); }

float elsewhere(float x);
KERNEL calls_elsewhere(global float *p) { p[ITEM] = elsewhere(p[ITEM]); }

KERNEL tables(global float *p, global int *q)
{
    p[ITEM] = table[q[ITEM] & 15];
    q[ITEM] = squares[q[ITEM] % 10] + counter + zeros[q[ITEM] & 63];
}

KERNEL jumps(global int *p, int a)
{
    switch (a) {
    case 0: p[ITEM] = a * 3; break;
    case 1: p[0] = a ^ 55; break;
    case 2: p[ITEM] = a + p[ITEM + 5]; break;
    case 3: p[4] = -a; break;
    case 4: p[ITEM + 4] = a << 3; break;
    case 5: p[ITEM] /= 7; break;
    case 6: p[ITEM] = p[a]; break;
    }
}

KERNEL stack(global int *p, int a)
{
    int t[40];
    for (int i = 0; i < 40; i++)
        t[i] = p[i];
    p[ITEM] = t[(ITEM + a) % 40] + t[(ITEM ^ a) % 40];
}

KERNEL lanes(global int *p)
{
    int x = p[ITEM];
    x += __builtin_amdgcn_update_dpp(0, x, 0x111, 0xf, 0xf, 0);
    x += __builtin_amdgcn_ds_swizzle(x, 0x101f);
    x ^= __builtin_amdgcn_readfirstlane(x);
    x += __builtin_amdgcn_ds_bpermute(x * 4, x + 1);
    p[ITEM] = x + __builtin_amdgcn_readlane(x, 5);
}

typedef int (*function)(int);
__attribute__((noinline)) static int triple(int x) { return x * 3; }
__attribute__((noinline)) static int flip(int x) { return x ^ 77; }
KERNEL pointers(global int *p, int a)
{
    function f = a ? triple : flip;
    p[ITEM] = f(p[ITEM]);
}

__attribute__((noinline)) static int fibonacci(int x) { return x < 2 ? 1 : fibonacci(x - 1) + fibonacci(x - 2); }
KERNEL recursive(global int *p) { p[ITEM] = fibonacci(p[ITEM]); }

KERNEL numbers(global double *d, global ulong *q, global uint *p)
{
    d[ITEM] = __builtin_sqrt(d[ITEM]) / d[ITEM + 1];
    q[ITEM] = q[ITEM] * q[ITEM + 1] % (q[ITEM + 2] | 1);
    p[ITEM] = __builtin_popcount(p[ITEM]) + __builtin_clz(p[ITEM + 1] | 1) + (uint)__builtin_readcyclecounter();
    if (p[ITEM] == 3)
        __builtin_trap();
}

KERNEL by_hand(global int *p)
{
    int x;
    __asm volatile("v_mov_b32 %0, 0x12345678\n\ts_branch 1f\n1: v_xor_b32 %0, %0, %0\n\ts_cbranch_vccz 1b\n1:" : "=v"(x));
    p[ITEM] = x;
}
