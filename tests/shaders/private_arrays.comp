#version 450
// Arrays of the invocation's own with dynamic indices: a stack, an insertion sort, a histogram, an array of structs and
// bytes in words. Too irregular to unroll, so the arrays live in scratch memory.
layout(local_size_x = 32) in;

struct Node { int left; int right; uint value; };

layout(set = 0, binding = 0) readonly buffer Inputs { uint inputs[]; };
layout(set = 0, binding = 1) writeonly buffer Results { uint results[]; };
layout(push_constant) uniform Parameters { uint items; };

Node tree[16];
uint counts[8];

void insert(uint used, uint value)
{
    tree[used] = Node(-1, -1, value);
    if (used == 0)
        return;
    int at = 0;
    while (true) {
        int next = value < tree[at].value ? tree[at].left : tree[at].right;
        if (next < 0)
            break;
        at = next;
    }
    if (value < tree[at].value)
        tree[at].left = int(used);
    else
        tree[at].right = int(used);
}

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint sorted[16];
    for (uint j = 0; j < 8; ++j)
        counts[j] = 0;
    for (uint j = 0; j < items; ++j) {
        uint value = inputs[i * 16 + j];
        uint to = j;
        while (to > 0 && sorted[to - 1] > value) {
            sorted[to] = sorted[to - 1];
            --to;
        }
        sorted[to] = value;
        insert(j, value);
        counts[value & 7u]++;
    }

    // In-order walk of the tree with a stack of our own; it must agree with the sorted array.
    int stack[17];
    int depth = 0, at = 0;
    uint hash = 0, position = 0, agree = 0;
    while (depth > 0 || at >= 0) {
        while (at >= 0) {
            stack[depth++] = at;
            at = tree[at].left;
        }
        at = stack[--depth];
        agree += uint(tree[at].value == sorted[position]);
        hash = hash * 31u + tree[at].value;
        ++position;
        at = tree[at].right;
    }
    results[4 * i] = hash;
    results[4 * i + 1] = agree;
    results[4 * i + 2] = counts[i & 7u] << 16 | counts[hash & 7u];
    results[4 * i + 3] = sorted[(i * 5u) % items];
}
