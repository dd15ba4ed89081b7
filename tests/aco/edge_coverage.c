/* Which ways between basic blocks were taken: see mutated_programs.py.
 *
 * Code compiled with -fsanitize-coverage=trace-pc calls __sanitizer_cov_trace_pc at the start of each basic block (GCC manual, "Program
 * Instrumentation Options"). A pair of blocks, one behind the other, is a bit of a table that both addresses choose, as in American Fuzzy Lop
 * (its technical whitepaper, "Coverage measurements"); two pairs may choose the same. */
#include <stdint.h>

enum { TABLE_BITS = 20 };

static uint8_t seen[1 << TABLE_BITS];
static uint64_t count;
static __thread uint64_t previous;

__attribute__((visibility("default"))) void __sanitizer_cov_trace_pc(void)
{
    uint64_t block = (uint64_t)(uintptr_t)__builtin_return_address(0) * 0x9e3779b97f4a7c15u >> (64 - TABLE_BITS);
    uint64_t edge = block ^ previous;
    previous = block >> 1;
    count += !seen[edge];
    seen[edge] = 1;
}

/* How many ways this process has seen. */
__attribute__((visibility("default"))) uint64_t pyaco_edges_seen(void)
{
    return count;
}
