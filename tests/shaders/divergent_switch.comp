#version 450
// A small stack machine: every invocation interprets its own program through a switch with fall-through and default.
layout(local_size_x = 64) in;

layout(set = 0, binding = 0) readonly buffer Programs { uint programs[]; };    // 16 instructions of opcode | operand << 8
layout(set = 0, binding = 1) writeonly buffer Results { ivec2 results[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    int accumulator = int(i), other = 1;
    uint pc = 0;
    int fuel = 40;
    while (pc < 16 && fuel-- > 0) {
        uint word = programs[i * 16 + pc];
        int operand = int(word) >> 8;
        ++pc;
        switch (word & 15) {
        case 0:
            accumulator += operand;
            break;
        case 1:
            accumulator -= other;
            // fall through
        case 2:
            other ^= operand;
            break;
        case 3: {
            int swapped = accumulator;
            accumulator = other;
            other = swapped;
            break;
        }
        case 4:
            if (accumulator > other)
                pc += uint(operand) & 3;
            break;
        case 5:
            if ((accumulator & 1) != 0)
                continue;
            accumulator *= 3;
            // fall through
        case 6:
        case 7:
            accumulator = (accumulator >> 1) + operand;
            break;
        case 9:
            pc = pc > 4 ? pc - (uint(operand) & 3) : pc;
            break;
        case 15:
            fuel -= 20;
            break;
        default:
            other += accumulator & 0xff;
        }
    }
    results[i] = ivec2(accumulator, other);
}
