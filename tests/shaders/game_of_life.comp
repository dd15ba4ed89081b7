#version 450
// Conway's game of life on a torus of bits, 32 cells to a word, by bit-sliced counting; several generations a dispatch.
layout(local_size_x = 4, local_size_y = 32) in;
layout(constant_id = 3) const uint generations = 3;

layout(set = 0, binding = 0) buffer Cells { uint cells[32][4]; };
layout(set = 0, binding = 1) buffer Population { uint population[]; };

shared uint board[32][4];

void count_bits(inout uint ones, inout uint twos, inout uint fours, uint more)
{
    uint carry = ones & more;
    ones ^= more;
    uint second = twos & carry;
    twos ^= carry;
    fours |= second;
}

void main()
{
    uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
    board[y][x] = cells[y][x];
    barrier();
    for (uint generation = 0; generation < generations; ++generation) {
        uint ones = 0, twos = 0, fours = 0;
        uint self = board[y][x];
        for (int dy = -1; dy <= 1; ++dy) {
            uint row = uint(int(y) + dy) & 31u;
            uint middle = board[row][x];
            uint left = (middle << 1) | (board[row][(x + 3) & 3] >> 31);
            uint right = (middle >> 1) | (board[row][(x + 1) & 3] << 31);
            count_bits(ones, twos, fours, left);
            count_bits(ones, twos, fours, right);
            if (dy != 0)
                count_bits(ones, twos, fours, middle);
        }
        barrier();
        uint alive = twos & ~fours & (ones | self);
        board[y][x] = alive;
        atomicAdd(population[generation], uint(bitCount(alive)));
        barrier();
    }
    cells[y][x] = board[y][x];
}
