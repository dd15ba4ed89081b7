#version 450
// Matrices: products of all shapes, transpose, determinant, inverse, outer product, row-major blocks, dynamic columns.
layout(local_size_x = 32) in;

layout(set = 0, binding = 0) readonly buffer Inputs { mat4 inputs[]; };
layout(set = 0, binding = 1, row_major) uniform RowMajor { mat3x4 stretch; mat2 rotation; };
layout(set = 0, binding = 2) writeonly buffer Results { mat4 results[]; };
layout(set = 0, binding = 3, row_major) writeonly buffer Small { mat3 small_results[]; };
layout(set = 0, binding = 4) writeonly buffer Scalars { vec4 scalars[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    mat4 m = inputs[i];
    mat3 upper = mat3(m);
    mat4x3 tall = mat4x3(m);
    mat3x4 wide = transpose(tall) + stretch;
    mat4 product = wide * tall;
    product[i & 3] += m[(i >> 2) & 3];
    results[i] = product * inverse(m) - matrixCompMult(m, transpose(m));
    small_results[i] = inverse(upper) * 0.5 + outerProduct(m[0].xyz, m[3].yzw);
    vec2 turned = rotation * m[1].xy;
    scalars[i] = vec4(determinant(m), determinant(upper), turned.x + (m[2].xy * rotation).y, product[i & 3][(i >> 3) & 3]);
}
