// Matrices by clang's builtins for GFX11.7, for test_emu_gfx1170.py, which defines LANES.
#if LANES == 64
#define NAMED(name) name##_w64_gfx12
#define EACH 4
typedef int bytes_of_lane;
#else
#define NAMED(name) name##_w32_gfx12
#define EACH 8
typedef int bytes_of_lane __attribute__((ext_vector_type(2)));
#endif
typedef half halves_of_lane __attribute__((ext_vector_type(EACH)));
typedef float singles __attribute__((ext_vector_type(EACH)));
typedef int integers __attribute__((ext_vector_type(EACH)));
#define KERNEL __attribute__((reqd_work_group_size(LANES, 1, 1))) kernel void

KERNEL halves(global const halves_of_lane *a, global const halves_of_lane *b, global singles *c)
{
    int lane = __builtin_amdgcn_workitem_id_x();
    c[lane] = NAMED(__builtin_amdgcn_wmma_f32_16x16x16_f16)(a[lane], b[lane], c[lane]);
}

KERNEL bytes(global const bytes_of_lane *a, global const bytes_of_lane *b, global integers *c)
{
    int lane = __builtin_amdgcn_workitem_id_x();
    c[lane] = NAMED(__builtin_amdgcn_wmma_i32_16x16x16_iu8)(1, a[lane], 1, b[lane], c[lane], 0);
}
