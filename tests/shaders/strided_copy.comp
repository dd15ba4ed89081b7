#version 450
// Copy of a three-dimensional array between two layouts given by strides, with vector and scalar tails.
layout(local_size_x = 8, local_size_y = 4, local_size_z = 2) in;

layout(set = 0, binding = 0) readonly buffer Source { uint source[]; };
layout(set = 0, binding = 1) writeonly buffer Destination { uint destination[]; };
layout(set = 1, binding = 0) uniform Layout {
    uvec4 extent;              // elements along x, y, z
    uvec4 source_stride;
    uvec4 destination_stride;
    uvec2 first;               // first element of source and destination
};

void main()
{
    uvec3 id = gl_GlobalInvocationID;
    if (any(greaterThanEqual(id, extent.xyz)))
        return;
    uvec3 from = id * source_stride.xyz;
    uvec3 to = id * destination_stride.xyz;
    destination[first.y + to.x + to.y + to.z] = source[first.x + from.x + from.y + from.z];
}
