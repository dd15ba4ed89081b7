"""Images, samplers and texel buffers that ``pyaco run`` binds: what its options say of them, and saving images.

An option's value is SET.BINDING=SOURCE, then words behind commas: ``0.1=picture.png,mips,swizzle=64KB_R_X``. A file's name may have commas, as
long as no such word follows one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from pyaco.cli.arrays import array_of, read_array, write_array
from pyaco.cli.command_line import CommandLine, Options
from pyaco.cli.surface import extent_of
from pyaco.cli.textures import image_of_shape, read_texture, shape_of_image, texture_kind, tiling_options, write_texture
from pyaco.descriptors.sampler import Sampler
from pyaco.emu.buffers import Buffer, TexelBuffer
from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import pixel_format

if TYPE_CHECKING:
    from pyaco.abi import Abi
    from pyaco.emu import Device
    from pyaco.emu.images import Image, ImageView
    from pyaco.texture_files import TextureShape

__all__ = ["Resources", "add_image_arguments", "split_binding"]

Key = tuple[int, int]
_IMAGE_TYPES = ("sampled_image", "combined_image_sampler", "storage_image", "input_attachment")
_TEXEL_TYPES = ("uniform_texel_buffer", "storage_texel_buffer")
_SAMPLER_TYPES = ("sampler", "combined_image_sampler")
_FILTERS = {"nearest": 0, "linear": 1}
_MIP_FILTERS = {"none": 0, "nearest": 1, "linear": 2}
#: SQ_TEX_CLAMP, SQ_TEX_BORDER_COLOR, SQ_TEX_DEPTH_COMPARE, SQ_IMG_FILTER_TYPE by Vulkan's words.
_ADDRESS = {"repeat": 0, "mirror": 1, "clamp": 2, "mirror-clamp": 3, "border": 6}
_BORDERS = {"transparent": 0, "black": 1, "white": 2}
_COMPARISONS = {"never": 0, "less": 1, "equal": 2, "less-equal": 3, "greater": 4, "not-equal": 5, "greater-equal": 6, "always": 7}
_REDUCTIONS = {"average": 0, "min": 1, "max": 2}
_IMAGE_WORDS = ("format", "mips", "layers", "cube", "3d", "swizzle", "linear", "view")
_SAMPLER_WORDS = ("filter", "mag", "min", "mip", "address", "border", "compare", "anisotropy", "bias", "min-lod", "max-lod", "unnormalized",
                  "reduction")  # fmt: skip
_ARRAY_SUFFIX = {"u": "UINT", "i": "SINT", "f": "FLOAT"}
_MOST_ANISOTROPY = 16


def add_image_arguments(parser: CommandLine) -> None:
    """Declare what is bound besides buffers."""
    parser.add_argument("--image", action="append", default=[], metavar="SET.BINDING=FILE|zeros:FORMAT:WxH[xD][,WORD...]",
                        help="an image: .png, .npy, .dds, .ktx2 or zeros. Words: format=F (of .png and .npy), mips (a whole chain, made of level 0) "
                        "or mips=N, layers=N, cube, 3d (of .npy), swizzle=MODE, linear, view=TYPE such as 1d or 2d_array")
    parser.add_argument("--sampler", action="append", default=[], metavar="SET.BINDING=WORD[,WORD...]",
                        help="a sampler, alone or of an image's binding; without one: filter=linear (integers: nearest), address=repeat. Words: "
                        "filter|mag|min=nearest|linear, mip=none|nearest|linear, address=repeat|mirror|clamp|mirror-clamp|border (x/y/z), "
                        "border=transparent|black|white, compare=less|..., anisotropy=1..16, bias=X, min-lod=X, max-lod=X, unnormalized, "
                        "reduction=min|max")
    parser.add_argument("--texel-buffer", action="append", default=[], metavar="SET.BINDING=FILE|zeros:BYTES,format=F",
                        help="a buffer of texels: .npy, raw bytes, or zeros")


def split_binding(word: str, option: str) -> tuple[Key, str]:
    """Return set and binding of an option's value, and what follows."""
    match = re.fullmatch(r"(\d+)\.(\d+)=(.+)", word)
    if match is None:
        raise InputError(f"{option} {word}: expected SET.BINDING=FILE, for example 0.1=x.npy")
    return (int(match[1]), int(match[2])), match[3]


def _words(text: str, known: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """Take the words behind a source off; those without a value have an empty one."""
    found: dict[str, str] = {}
    source = text
    while "," in source:
        rest, _, word = source.rpartition(",")
        name, _, value = word.partition("=")
        if name not in known:
            break
        if name in found:
            raise InputError(f"{name} is said twice")
        found[name], source = value, rest
    return source, found


def _choice(name: str, value: str, choices: dict[str, int]) -> int:
    if value not in choices:
        raise InputError(f"{name}={value}: expected one of {', '.join(choices)}")
    return choices[value]


def _number(name: str, value: str, kind: type[int] | type[float] = int) -> Any:
    number: float | None
    try:
        number = kind(value)
    except ValueError:
        number = kind("nan") if kind is float else None
    if number is None or number != number:
        raise InputError(f"{name}={value}: expected a number")
    return number


# --------------------------------------------------------------------------------------------------------------- samplers
def parse_sampler(text: str, integer: bool = False) -> Sampler:
    """Return the sampler that words describe."""
    _, given = _words("," + text if text else "", _SAMPLER_WORDS)
    unknown = [word for word in text.split(",") if word and word.partition("=")[0] not in given]
    if unknown:
        raise InputError(f"{unknown[0]!r}: a sampler's words are {', '.join(_SAMPLER_WORDS)}")
    common = given.get("filter", "nearest" if integer else "linear")
    mag, least = (_choice(name if name in given else "filter", given.get(name, common), _FILTERS) for name in ("mag", "min"))
    mip = _choice("mip", given.get("mip", "none" if "unnormalized" in given else common), _MIP_FILTERS)
    modes = [_choice("address", mode, _ADDRESS) for mode in given.get("address", "clamp" if "unnormalized" in given else "repeat").split("/")]
    if len(modes) not in (1, 3):
        raise InputError(f"address={given['address']}: expected one mode, or three for x, y and z, such as repeat/clamp/clamp")
    x, y, z = modes * (3 // len(modes))
    anisotropy = _number("anisotropy", given.get("anisotropy", "1"))
    if not 1 <= anisotropy <= _MOST_ANISOTROPY:
        raise InputError(f"anisotropy={anisotropy}: expected 1 to {_MOST_ANISOTROPY}")
    several = 2 if anisotropy > 1 else 0                       # filters of anisotropic samples follow those of others
    levels = {name.replace("-", "_"): _number(name, given[name], float) for name in ("min-lod", "max-lod") if name in given}
    return Sampler(
        (x, y, z), mag | several, least | several, mip, anisotropy.bit_length() - 1, _choice("compare", given.get("compare", "never"), _COMPARISONS),
        _choice("reduction", given.get("reduction", "average"), _REDUCTIONS), "unnormalized" in given, truncate=not mag and not least,
        border_color_type=_choice("border", given.get("border", "transparent"), _BORDERS), lod_bias=_number("bias", given.get("bias", "0"), float),
        **levels,
    )  # fmt: skip


# ----------------------------------------------------------------------------------------------------------------- images
def _array_format(array: NDArray[Any], channels: int) -> str:
    kind, bits = array.dtype.kind, 8 * array.itemsize
    suffix = "UNORM" if (kind, bits) == ("u", 8) else _ARRAY_SUFFIX.get(kind)
    if suffix is None or not 1 <= channels <= 4:
        raise InputError(f"an array of {array.dtype} with {channels} channels: say format=F")
    return "".join(f"{name}{bits}" for name in "RGBA"[:channels]) + f"_{suffix}"


def _array_shape(array: NDArray[Any], given: dict[str, str]) -> TextureShape:
    """The texture that an array (slices, rows, columns, channels) is; slices and channels may be absent."""
    from pyaco.texture_files import TextureShape

    axes = list(array.shape)
    sliced = len(axes) == 4 or (len(axes) == 3 and ("3d" in given or "cube" in given or "layers" in given))
    if not 2 <= len(axes) <= 4 or 0 in axes:
        raise InputError(f"an array of shape {array.shape}: expected rows and columns, with slices before and channels behind them")
    slices, height, width, channels = ([] if sliced else [1]) + axes + ([1] if len(axes) == 2 + sliced else [])
    form = pixel_format(given.get("format") or _array_format(array, channels))
    if channels * array.itemsize * 8 != form.bits:
        raise InputError(f"an array of {array.dtype} with {channels} channels: texels of {form.name} have {form.bits} bits")
    if "layers" in given and _number("layers", given["layers"]) != slices:
        raise InputError(f"layers={given['layers']}: the array has {slices}")
    volume = "3d" in given
    return TextureShape(form.name, width, height, slices if volume else 0, 1 if volume else slices, "cube" in given)


def _zeros_shape(text: str, given: dict[str, str]) -> TextureShape:
    from pyaco.texture_files import TextureShape

    form, separator, extent = text.partition(":")
    if not separator:
        raise InputError("expected zeros:FORMAT:WxH[xD], for example zeros:rgba8:64x64")
    width, height, depth = extent_of(extent)
    cube = "cube" in given
    return TextureShape(pixel_format(form).name, width, height, depth, _number("layers", given.get("layers", "6" if cube else "1")), cube)


@dataclass
class BoundImage:
    """An image of the command line."""

    word: str
    image: Image
    view_type: str
    array: NDArray[Any] | None = None

    def view(self, storage: bool) -> ImageView:
        """What the shader sees: faces of cubes are layers where they are written to."""
        kind = self.view_type or ("2d_array" if storage and self.image.surface.request.is_cube else "")
        return self.image.view(kind, storage=storage)

    def save(self, path: str) -> None:
        """Write it to a file."""
        from pyaco.texture_files import Texture

        if texture_kind(path):
            shape = shape_of_image(self.image)
            write_texture(path, Texture(shape, tuple(numpy.ascontiguousarray(self.image.numpy(mip)).tobytes() for mip in range(shape.level_count))))
            return
        texels = numpy.ascontiguousarray(self.image.numpy())
        if self.array is not None and self.array.nbytes == texels.nbytes:
            texels = texels.view(numpy.uint8).reshape(-1).view(self.array.dtype).reshape(self.array.shape)
        write_array(path, texels)


def _image(device: Device, text: str) -> BoundImage:
    source, given = _words(text, _IMAGE_WORDS)
    array = None
    if source.startswith("zeros:"):
        shape, levels = _zeros_shape(source.removeprefix("zeros:"), given), []
    elif texture_kind(source):
        texture = read_texture(source, given.get("format", ""))
        shape, levels = texture.shape, list(texture.levels)
    elif source.endswith(".npy"):
        array = numpy.ascontiguousarray(read_array(source))
        shape, levels = _array_shape(array, given), [array.tobytes()]
    else:
        raise InputError("expected a file .png, .npy, .dds or .ktx2, or zeros:FORMAT:WxH[xD]")
    described = ("layers", "cube", "3d", *(() if source.lower().endswith(".png") else ("format",)))
    taken = next((name for name in described if name in given), None)
    if texture_kind(source) and taken:
        raise InputError(f"{taken}: {source} says itself what it is")
    whole = max(shape.width, shape.height, shape.depth).bit_length()
    count = shape.level_count if "mips" not in given else _number("mips", given["mips"]) if given["mips"] else whole
    if not 1 <= count <= whole:
        raise InputError(f"mips={count}: an image of {shape.width} x {shape.height} x {max(shape.depth, 1)} texels has 1 to {whole} levels")
    image = image_of_shape(device, shape, shape.format, count, **tiling_options(device, "linear" in given, given.get("swizzle")))
    for mip, data in enumerate(levels[:count]):
        level = image.numpy(mip)
        image.write(numpy.frombuffer(data, level.dtype).reshape(level.shape), mip)
    if "mips" in given and levels and count > 1:
        from pyaco import meta

        meta.generate_mipmaps(device, image, "nearest" if _is_integer(image) else "linear")
    return BoundImage(text, image, given.get("view", ""), array)


def _is_integer(image: Image) -> bool:
    return image.format.name.endswith(("UINT", "SINT"))


def _texel_buffer(device: Device, text: str) -> tuple[TexelBuffer, NDArray[Any]]:
    source, given = _words(text, ("format",))
    if "format" not in given:
        raise InputError("say format=F behind the file, for example 0.1=x.npy,format=rgba8")
    array = array_of(source)
    return TexelBuffer(device.buffer(array), pixel_format(given["format"]).name), array


# --------------------------------------------------------------------------------------------------------------- together
@dataclass
class Resources:
    """What the options of a command line bind besides buffers.

    Attributes
    ----------
    images, texel_buffers, samplers : dict
        By set and binding: the elements of descriptor arrays.
    """

    images: dict[Key, list[BoundImage]] = field(default_factory=dict)
    texel_buffers: dict[Key, list[tuple[TexelBuffer, NDArray[Any]]]] = field(default_factory=dict)
    samplers: dict[Key, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Options, device: Device, abi: Abi) -> Resources:
        """Make what the options name."""
        found = cls()
        for word in options.image:
            key, text = _checked(word, "--image", abi, _IMAGE_TYPES)
            found.images.setdefault(key, []).append(_told(f"--image {word}", _image, device, text))
        for word in options.texel_buffer:
            key, text = _checked(word, "--texel-buffer", abi, _TEXEL_TYPES)
            found.texel_buffers.setdefault(key, []).append(_told(f"--texel-buffer {word}", _texel_buffer, device, text))
        for word in options.sampler:
            key, text = _checked(word, "--sampler", abi, _SAMPLER_TYPES)
            _told(f"--sampler {word}", parse_sampler, text)
            found.samplers.setdefault(key, []).append(text)
        return found

    def bound(self, abi: Abi) -> dict[Key, Any]:
        """Return what is bound to each binding. Bindings that want a sampler and are given none get the default one."""
        found: dict[Key, Any] = {key: [buffer for buffer, _ in given] for key, given in self.texel_buffers.items()}
        for key, images in self.images.items():
            found[key] = [self._element(key, number, image, _type_of(abi, key)) for number, image in enumerate(images)]
        for number, layout in abi.descriptor_sets.items():
            for binding, bound in layout.bindings.items():
                if bound.type == "sampler":
                    found[number, binding] = [parse_sampler(text) for text in self.samplers.get((number, binding), [""] * max(bound.count, 1))]
        return {key: value if len(value) > 1 else value[0] for key, value in found.items()}

    def _element(self, key: Key, number: int, image: BoundImage, kind: str) -> Any:
        from pyaco.emu.images import SampledImage

        view = _told(f"--image {key[0]}.{key[1]}={image.word}", image.view, kind == "storage_image")
        if kind != "combined_image_sampler":
            return view
        texts = self.samplers.get(key, [""])
        return SampledImage(view, parse_sampler(texts[min(number, len(texts) - 1)], _is_integer(image.image)))

    def buffer_of(self, key: Key) -> tuple[Buffer, NDArray[Any]] | None:
        """Return the memory of a texel buffer, and the array that it was made from."""
        given = self.texel_buffers.get(key)
        return None if given is None else (given[0][0].buffer, given[0][1])


def _type_of(abi: Abi, key: Key) -> str:
    layout = abi.descriptor_sets.get(key[0])
    bound = None if layout is None else layout.bindings.get(key[1])
    return "" if bound is None else bound.type


def _checked(word: str, option: str, abi: Abi, types: tuple[str, ...]) -> tuple[Key, str]:
    key, text = split_binding(word, option)
    kind = _type_of(abi, key)
    if kind and kind not in types:
        raise InputError(f"{option} {word}: binding {key[1]} of set {key[0]} is a {kind}")
    return key, text


def _told(what: str, function: Any, *arguments: Any) -> Any:
    """Call a function; errors name the option."""
    try:
        return function(*arguments)
    except UnsupportedError as error:
        raise UnsupportedError(f"{what}: {error}") from None
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
