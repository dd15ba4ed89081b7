"""The table of descriptors that an engine has met. The contract is in ``image_view.pxd``."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from pyaco._core.texels.block cimport interpolation_amd
from pyaco._core.texels.blocks cimport block_format
from pyaco._core.texels.blocks import CODECS
from pyaco.errors import InputError, UnsupportedError

cdef enum:
    descriptor_limit = 1 << 16        # that a table keeps
    table_limit = 1 << 28             # bytes of layouts that stay for the next dispatch
    sampler_mask = sampler_buckets - 1
    image_mask = image_buckets - 1


cdef inline uint32_t _hash(const uint32_t *words, uint32_t count) noexcept nogil:
    cdef uint32_t value = 2166136261U
    cdef uint32_t i
    for i in range(count):
        value = (value ^ words[i]) * 16777619U
        value ^= value >> 15
    return value


cdef const ImageView *find_image(DescriptorTable *table, const uint32_t *words) noexcept nogil:
    cdef const ImageView *view = table.images[_hash(words, image_words) & <uint32_t>image_mask]
    while view != NULL:
        if memcmp(view.words, words, sizeof(view.words)) == 0:
            return view
        view = view.next
    return _new_image(table, words)


cdef const Sampler *find_sampler(DescriptorTable *table, const uint32_t *words) noexcept nogil:
    cdef const Sampler *sampler = table.samplers[_hash(words, sampler_words) & <uint32_t>sampler_mask]
    while sampler != NULL:
        if memcmp(sampler.words, words, sizeof(sampler.words)) == 0:
            return sampler
        sampler = sampler.next
    return _new_sampler(table, words)


cdef const ImageView *_new_image(DescriptorTable *table, const uint32_t *words) noexcept with gil:
    try:
        return (<Descriptors>table.owner).add_image(words)
    except MemoryError:
        return NULL


cdef const Sampler *_new_sampler(DescriptorTable *table, const uint32_t *words) noexcept with gil:
    try:
        return (<Descriptors>table.owner).add_sampler(words)
    except MemoryError:
        return NULL


cdef class Descriptors:
    """The descriptors that an engine has met.

    Attributes
    ----------
    describe : object, optional
        Says what words mean: ``describe.image(words)`` and ``describe.sampler(words)`` (``pyaco.emu.image_views``). None: images are not
        supported.
    border_colors : int
        Device address of the table of border colours (TA_BC_BASE_ADDR), 0 where there is none.
    problems : list
        Why words could not be used, by number; the first is None.
    """

    def __cinit__(self, describe=None):
        memset(&self.table, 0, sizeof(self.table))
        self.table.owner = <void *>self
        self.describe = describe
        self.problems = [None]
        self.kept = []
        self.count = 0

    def __dealloc__(self):
        _free(&self.table)

    cdef int forget(self) except -1:
        """Drop all, if they are many: between dispatches."""
        if self.count > descriptor_limit // 4 or (self.describe is not None and self.describe.table_bytes > <uint64_t>table_limit):
            if self.describe is not None:
                self.describe.forget()
            _free(&self.table)
            self.problems = [None]
            self.kept = []
            self.count = 0
        return 0

    cdef uint32_t problem(self, error) except 0:
        self.problems.append(error)
        return <uint32_t>len(self.problems) - 1

    cdef const ImageView *add_image(self, const uint32_t *words) except NULL:
        cdef uint32_t bucket = _hash(words, image_words) & <uint32_t>image_mask
        cdef ImageView *view = <ImageView *>calloc(1, sizeof(ImageView))
        if view == NULL:
            raise MemoryError("an image descriptor")
        memcpy(view.words, words, sizeof(view.words))
        try:
            self._check_room()
            self.kept.append(_fill_view(view, self.describe.image([words[i] for i in range(<int>image_words)])))
        except Exception as error:                          # bugs too: the dispatch ends with them
            view.problem = self.problem(error)
        self.count += 1
        view.next = self.table.images[bucket]
        self.table.images[bucket] = view
        return view

    cdef const Sampler *add_sampler(self, const uint32_t *words) except NULL:
        cdef uint32_t bucket = _hash(words, sampler_words) & <uint32_t>sampler_mask
        cdef Sampler *sampler = <Sampler *>calloc(1, sizeof(Sampler))
        if sampler == NULL:
            raise MemoryError("a sampler")
        memcpy(sampler.words, words, sizeof(sampler.words))
        try:
            self._check_room()
            _fill_sampler(sampler, self.describe.sampler([words[i] for i in range(<int>sampler_words)]))
        except Exception as error:                          # bugs too: the dispatch ends with them
            sampler.problem = self.problem(error)
        self.count += 1
        sampler.next = self.table.samplers[bucket]
        self.table.samplers[bucket] = sampler
        return sampler

    @property
    def border_colors(self):
        return self.table.border_colors

    @border_colors.setter
    def border_colors(self, uint64_t address):
        self.table.border_colors = address

    def _check_room(self):
        if self.describe is None:
            raise UnsupportedError("images on a device whose chip is not known")
        if self.count >= descriptor_limit:
            raise InputError(f"more than {descriptor_limit} descriptors in one dispatch")


cdef void _free(DescriptorTable *table) noexcept:
    cdef const ImageView *view
    cdef const Sampler *sampler
    cdef uint32_t i
    for i in range(<uint32_t>image_buckets):
        while table.images[i] != NULL:
            view = table.images[i]
            table.images[i] = view.next
            free(<void *>view)
    for i in range(<uint32_t>sampler_buckets):
        while table.samplers[i] != NULL:
            sampler = table.samplers[i]
            table.samplers[i] = sampler.next
            free(<void *>sampler)


cdef object _fill_view(ImageView *view, image):
    """Take a description over; returns what has to be kept alive."""
    cdef uint32_t i
    view.empty = image.empty
    if image.empty:
        return None
    view.type = image.type
    view.samples = image.samples
    view.first_level, view.last_level, view.levels = image.first_level, image.last_level, image.levels
    view.min_lod = image.min_lod
    view.first_layer, view.layers = image.first_layer, image.layers
    view.base = image.base
    for i in range(4):
        view.select[i] = image.select[i]
        view.border[i] = image.border[i]
        view.format.position[i], view.format.bits[i], view.format.kind[i] = image.format.channels[i]
    view.format.bytes = image.format.bytes
    view.format.integer = image.format.integer
    view.format.shared_exponent = image.format.shared_exponent
    view.format.clamped = image.format.clamped
    if image.format.codec:
        view.format.in_blocks = block_format(&view.format.block, CODECS[image.format.codec], image.format.block[0], image.format.block[1], 1,
                                             interpolation_amd)
        view.format.srgb_blocks = image.format.srgb
    if image.format.fmask:
        view.format.mask_samples, view.format.mask_fragments, view.format.mask_bits = image.format.fmask
    for number, tables in image.tables.items():
        _fill_level(&view.level[<int>number], tables)
        view.level[<int>number].width = max(<uint32_t>image.width >> <uint32_t>number, <uint32_t>1)
        view.level[<int>number].height = max(<uint32_t>image.height >> <uint32_t>number, <uint32_t>1)
    return image


cdef int _fill_level(ImageLevel *level, tables) except -1:
    cdef const int64_t[::1] xs = tables.x
    cdef const int64_t[::1] ys = tables.y
    cdef const int64_t[::1] zs = tables.slice
    cdef const int64_t[::1] ss = tables.sample
    level.x, level.y, level.z, level.sample = &xs[0], &ys[0], &zs[0], &ss[0]
    level.depth = zs.shape[0]
    level.low = tables.low
    return 0


cdef int _fill_sampler(Sampler *sampler, described) except -1:
    cdef uint32_t i
    for i in range(3):
        sampler.clamp[i] = described.clamp[i]
    sampler.mag_filter, sampler.min_filter = described.mag_filter, described.min_filter
    sampler.z_filter, sampler.mip_filter = described.z_filter, described.mip_filter
    sampler.anisotropy = described.anisotropy
    sampler.compare = described.compare
    sampler.unnormalized = described.unnormalized
    sampler.truncate = described.truncate
    sampler.cube_wrap = described.cube_wrap
    sampler.reduction = described.reduction
    sampler.border = described.border
    sampler.border_number = described.border_number
    sampler.perf_mip = described.perf_mip
    sampler.min_lod, sampler.max_lod, sampler.bias = described.min_lod, described.max_lod, described.bias
    return 0
