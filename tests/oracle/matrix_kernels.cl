// Matrix products by CDNA's matrix operations, for clang: the compiler orders them, and puts wait states where it must.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f16v __attribute__((ext_vector_type(16)));
typedef float f32v __attribute__((ext_vector_type(32)));
typedef half h4 __attribute__((ext_vector_type(4)));
typedef double d4 __attribute__((ext_vector_type(4)));
typedef int i4 __attribute__((ext_vector_type(4)));

#define LANE __builtin_amdgcn_workitem_id_x()

static void all_here(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// C (16 x 16) = A (16 x 4 steps) B (4 steps x 16), rows of A and columns of B lie together.
kernel void singles16(global float *c, global const float *a, global const float *b, int steps) {
  uint lane = LANE, row = lane % 16, place = lane / 16;
  f4 sum = 0;
  for (int k = 0; k < steps; k++)
    sum = __builtin_amdgcn_mfma_f32_16x16x4f32(a[row * steps * 4 + k * 4 + place], b[row * steps * 4 + k * 4 + place], sum, 0, 0, 0);
  for (int i = 0; i < 4; i++)
    c[(place * 4 + i) * 16 + row] = sum[i];
}

// The same of 32 x 32 in steps of two, the result scaled and stored in several types.
kernel void singles32(global float *c, global const float *a, global const float *b, int steps) {
  uint lane = LANE, row = lane % 32, place = lane / 32;
  f16v sum = 1;
  for (int k = 0; k < steps; k++)
    sum = __builtin_amdgcn_mfma_f32_32x32x2f32(a[row * steps * 2 + k * 2 + place], b[row * steps * 2 + k * 2 + place], sum, 0, 0, 0);
  for (int i = 0; i < 16; i++)
    c[(i / 4 * 8 + place * 4 + i % 4) * 32 + row] = sum[i] * 2 - 2;
}

// Two products that depend on each other: the first one's result is a factor of the second.
kernel void chain(global float *c, global const float *a, global const float *b, int steps) {
  uint lane = LANE, row = lane % 4, place = lane / 4;
  f4 sum = 0;
  for (int k = 0; k < steps; k++) {
    f4 first = __builtin_amdgcn_mfma_f32_4x4x1f32(a[lane + 64 * k], b[lane + 64 * k], (f4)(0), 0, 0, 0);
    sum = __builtin_amdgcn_mfma_f32_4x4x1f32(first.x, first.y, sum, 0, 0, 0);
    sum = __builtin_amdgcn_mfma_f32_4x4x1f32(sum.z, b[lane], sum, 0, 0, 0);
  }
  for (int i = 0; i < 4; i++)
    c[(place * 4 + i) * 4 + row] = sum[i];
}

kernel void halves(global float *c, global const half *a, global const half *b, int steps) {
  uint lane = LANE, row = lane % 16, place = lane / 16;
  f4 sum = 0;
  for (int k = 0; k < steps; k++) {
    h4 x = *(global const h4 *)(a + row * steps * 16 + k * 16 + place * 4);
    h4 y = *(global const h4 *)(b + row * steps * 16 + k * 16 + place * 4);
    sum = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, sum, 0, 0, 0);
  }
  for (int i = 0; i < 4; i++)
    c[(place * 4 + i) * 16 + row] = sum[i];
}

// Through LDS and back, with a divergent branch between.
kernel void tiles(global float *c, global const float *a, global const float *b, int steps) {
  local float tile[1024];
  uint lane = LANE, row = lane % 32, place = lane / 32;
  f32v sum = 0;
  for (int k = 0; k < steps; k++) {
    tile[lane] = a[k * 64 + lane];
    if (lane < 40)
      tile[lane + 64] = b[k * 64 + lane];
    else
      tile[lane + 64] = -b[k * 64 + lane];
    all_here();
    sum = __builtin_amdgcn_mfma_f32_32x32x1f32(tile[lane], tile[lane + 64], sum, 0, 0, 0);
    all_here();
  }
  for (int i = 0; i < 16; i++)
    c[(i / 4 * 8 + place * 4 + i % 4) * 32 + row] = sum[i] + sum[i + 16];
}

#ifdef DOUBLES
kernel void doubles(global double *c, global const double *a, global const double *b, int steps) {
  uint lane = LANE, row = lane % 16, place = lane / 16;
  d4 sum = 0;
  double twice = 0;
  for (int k = 0; k < steps; k++) {
    double x = a[row * steps * 4 + k * 4 + place], y = b[row * steps * 4 + k * 4 + place];
    sum = __builtin_amdgcn_mfma_f64_16x16x4f64(x, y, sum, 0, 0, 0);
    twice = __builtin_fma(x, y, twice);
  }
  for (int i = 0; i < 4; i++)
    c[(i * 4 + place) * 16 + row] = sum[i];
  c[256 + lane] = twice;
}

kernel void small_doubles(global double *c, global const double *a, global const double *b, int steps) {
  uint lane = LANE;
  double sum = 0;
  for (int k = 0; k < steps; k++) {
    sum = __builtin_amdgcn_mfma_f64_4x4x4f64(a[k * 64 + lane], b[k * 64 + lane], sum, 0, 0, 0);
    sum = __builtin_amdgcn_mfma_f64_4x4x4f64(sum, b[k * 64 + lane], sum, 0, 0, 0);
  }
  c[lane] = sum;
}
#endif
