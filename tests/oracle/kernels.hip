// Kernels in HIP, without HIP's headers.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))

typedef unsigned int uint;
struct dim3 { uint x, y, z; };
typedef int hipError_t;
typedef struct stream *hipStream_t;
extern "C" hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, __SIZE_TYPE__, hipStream_t);

#ifdef OTHER_FILE
extern "C" __global__ void other(int *x) { x[__builtin_amdgcn_workitem_id_x()] += 1000; }
#else

static inline __device__ int local_id() { return __builtin_amdgcn_workitem_id_x(); }
static inline __device__ int global_id() { return __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + local_id(); }
static inline __device__ void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

namespace settings {
__constant__ float coefficients[4] = {1, 2, 3, 4};
}
__device__ int counter = 5;
__device__ int *where = &counter;
struct Record { short low; double value; };
__device__ Record record = {7, 0.5};
extern __shared__ int dynamic[];

template <typename T> __global__ void scale(T *x, T by, int n) {
  int i = global_id();
  if (i < n) x[i] = x[i] * by + (T)settings::coefficients[i & 3];
}
template __global__ void scale<float>(float *, float, int);
template __global__ void scale<int>(int *, int, int);

namespace work {
template <typename T> struct Pair { T first, second; };
template <typename T, uint N, bool UP> __global__ void sums(const Pair<T> *in, T *out) {
  __shared__ T part[N];
  int i = local_id();
  part[i] = in[i].first * in[i].second;
  barrier();
  T total = 0;
  for (uint k = 0; k < N; k++) total += part[UP ? k : N - 1 - k] * (T)(k + 1);
  out[i] = total + part[i];
}
template __global__ void sums<double, 64, true>(const Pair<double> *, double *);
template __global__ void sums<int, 64, false>(const Pair<int> *, int *);
}

__global__ void fill(int *x) { x[global_id()] = 1; }
__global__ void fill(float *x) { x[global_id()] = 2; }

extern "C" __global__ void turn(int *x) {
  int i = local_id();
  dynamic[i] = x[i];
  barrier();
  x[i] = dynamic[__builtin_amdgcn_workgroup_size_x() - 1 - i];
  __atomic_fetch_add(where, 1, __ATOMIC_RELAXED);
  if (i == 0) record.value += record.low;
}

extern "C" __global__ void hidden(uint *out) {
  *(volatile int *)dynamic = 1;
  const __attribute__((address_space(4))) uint *words = (const __attribute__((address_space(4))) uint *)__builtin_amdgcn_implicitarg_ptr();
  for (int i = 0; i < 64; i++) out[i] = words[i];
}

// LDS and scratch through addresses that do not say what they are of.
extern "C" __global__ void flat(int *x, int which) {
  __shared__ int shared[64];
  volatile int own[2];
  int i = local_id();
  own[which & 1] = x[i];
  own[~which & 1] = 100;
  shared[i] = 0;
  volatile int *p = which & 2 ? (volatile int *)&shared[i] : which & 4 ? &own[0] : (volatile int *)&x[i];
  *p = *p + 7;
  x[i] = own[0] + 3 * shared[i] + 5 * x[i];
}
#endif
