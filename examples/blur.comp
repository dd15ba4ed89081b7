#version 450
// One direction of a separable blur: nine texels with the weights of a binomial distribution. Linear colours come from an sRGB image, and
// go to an image of floats.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform sampler2D source;
layout(set = 0, binding = 1, rgba16f) uniform writeonly image2D blurred;
layout(push_constant) uniform Direction { ivec2 direction; };
const float weights[5] = float[](70.0 / 256.0, 56.0 / 256.0, 28.0 / 256.0, 8.0 / 256.0, 1.0 / 256.0);

void main() {
    ivec2 place = ivec2(gl_GlobalInvocationID.xy), size = imageSize(blurred);
    if (any(greaterThanEqual(place, size)))
        return;
    vec4 sum = weights[0] * textureLod(source, (vec2(place) + 0.5) / vec2(size), 0.0);
    for (int tap = 1; tap < 5; ++tap) {
        vec2 there = vec2(direction * tap);
        sum += weights[tap] * (textureLod(source, (vec2(place) + 0.5 + there) / vec2(size), 0.0)
                               + textureLod(source, (vec2(place) + 0.5 - there) / vec2(size), 0.0));
    }
    imageStore(blurred, place, sum);
}
