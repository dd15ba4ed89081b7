#version 450
// Control flow that is the same for all lanes: nested uniform loops, branches and switches over a little command list,
// with scalar arithmetic of every kind and a few vector values carried through.
layout(local_size_x = 64) in;

layout(set = 0, binding = 0) readonly buffer Commands { uvec4 commands[]; };
layout(set = 0, binding = 1) buffer Values { int values[]; };
layout(set = 0, binding = 2) writeonly buffer Trace { uint trace[]; };
layout(push_constant) uniform Parameters { uint command_count; int bias; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    int value = values[i];
    uint state = uint(bias) ^ gl_WorkGroupID.x * 0x9e3779b9u;
    uint steps = 0;
    for (uint c = 0; c < command_count; ++c) {
        uvec4 command = commands[c];
        if (command.w == 0xffu)
            break;
        if ((command.w & 1u) != 0 && (state & 3u) == 0)
            continue;
        uint repeat = command.y;
        do {
            switch (command.x) {
            case 0:
                value += int(command.z);
                break;
            case 1:
                value = value * int(command.z | 1u) - bias;
                state = bitfieldReverse(state) + command.z;
                break;
            case 2:
                for (uint k = 0; k < command.z % 5u; ++k) {
                    state = state * 1664525u + 1013904223u;
                    value ^= int(state >> 16);
                    if ((state >> 28) == 7u)
                        break;
                }
                break;
            case 3:
                state ^= uint(findMSB(state)) + uint(bitCount(command.z)) + state % (command.z | 1u) + state / 3u;
                break;
            default:
                value = max(value, int(state & 0xffffu));
            }
            ++steps;
        } while (repeat-- > 0);
    }
    values[i] = value;
    if (gl_LocalInvocationIndex == 0) {
        trace[2 * gl_WorkGroupID.x] = state;
        trace[2 * gl_WorkGroupID.x + 1] = steps;
    }
}
