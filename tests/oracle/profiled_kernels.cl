// Kernels whose costs are known by line: what a profile has to find.
#define LANE __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define SIZE 256

// Each lane reads a cache line of its own, each lane writes its neighbour's neighbour.
__attribute__((reqd_work_group_size(SIZE, 1, 1))) kernel void strided(global const uint *in, global uint *out)
{
    uint place = GROUP * SIZE + LANE;
    uint value = in[place * 32];                                        // STRIDED
    out[place] = value + 1;                                             // COALESCED
}

// A column of a matrix of 32 columns in LDS is one bank; with a column more it is not.
__attribute__((reqd_work_group_size(SIZE, 1, 1))) kernel void transposed(global const uint *in, global uint *out)
{
    local volatile uint tile[SIZE * 33];
    uint lane = LANE;
    tile[lane * 32] = in[lane];                                         // CONFLICTS
    tile[lane * 33] = in[lane + SIZE];                                  // PADDED
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    out[lane] = tile[(lane ^ 1) * 33];                                  // PADDED_LOAD
}

// Few lanes run the loop, the longer the higher their number.
__attribute__((reqd_work_group_size(SIZE, 1, 1))) kernel void divergent(global float *out)
{
    float sum = LANE;
    if ((LANE & 15) == 0)
        for (uint i = 0; i < LANE + 64; i++)
            sum = sum * 1.5f + 0.25f;                                   // DIVERGENT
    out[GROUP * SIZE + LANE] = sum;
}
