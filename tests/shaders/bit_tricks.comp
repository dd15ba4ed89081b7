#version 450
// Integer and bit operations, one result a word: counts, reversals, fields, carries, packing, rotations, Morton codes.
layout(local_size_x = 64) in;

layout(set = 0, binding = 0) readonly buffer Inputs { uvec2 inputs[]; };
layout(set = 0, binding = 1) writeonly buffer Results { uint results[]; };

const uint per_item = 32;

uint spread(uint x)
{
    x &= 0xffffu;
    x = (x | x << 8) & 0x00ff00ffu;
    x = (x | x << 4) & 0x0f0f0f0fu;
    x = (x | x << 2) & 0x33333333u;
    return (x | x << 1) & 0x55555555u;
}

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint a = inputs[i].x, b = inputs[i].y;
    int sa = int(a), sb = int(b);
    int offset = int(b & 31u);
    int width = min(int((b >> 5) & 31u), 32 - offset);
    uint r[per_item];
    r[0] = uint(bitCount(a));
    r[1] = bitfieldReverse(a);
    r[2] = uint(findLSB(a));
    r[3] = uint(findMSB(a));
    r[4] = uint(findMSB(sa));
    r[5] = bitfieldExtract(a, offset, width);
    r[6] = uint(bitfieldExtract(sa, offset, width));
    r[7] = bitfieldInsert(b, a, offset, width);
    uint carry, borrow, high, low;
    r[8] = uaddCarry(a, b, carry);
    r[9] = carry;
    r[10] = usubBorrow(a, b, borrow);
    r[11] = borrow;
    umulExtended(a, b, high, low);
    r[12] = high;
    r[13] = low;
    int shigh, slow;
    imulExtended(sa, sb, shigh, slow);
    r[14] = uint(shigh);
    r[15] = a << offset | a >> ((32 - offset) & 31);
    r[16] = uint(sa >> offset);
    r[17] = spread(a) | spread(b) << 1;
    r[18] = (a & b) | (~a & (a ^ b));
    r[19] = a / (b | 1u);
    r[20] = a % (b | 1u);
    r[21] = uint(sa / (sb | 1));
    r[22] = uint(abs(sa) % ((abs(sb) & 0x7fffffff) | 1));
    r[23] = a / 7u + a % 10u;
    r[24] = uint(sa / 13 - sa / -8);
    r[25] = uint(min(sa, sb)) ^ max(a, b);
    r[26] = uint(abs(sa)) + uint(sign(sb));
    r[27] = uint(clamp(sa, -1000, 1000));
    r[28] = packHalf2x16(unpackHalf2x16(a & 0x3fff3fffu));
    r[29] = packUnorm4x8(unpackUnorm4x8(a));
    r[30] = packSnorm2x16(unpackSnorm2x16(b & 0x7ffe7ffeu));
    r[31] = floatBitsToUint(uintBitsToFloat((a & 0x007fffffu) | 0x3f800000u) - 1.0);
    for (uint j = 0; j < per_item; ++j)
        results[i * per_item + j] = r[j];
}
