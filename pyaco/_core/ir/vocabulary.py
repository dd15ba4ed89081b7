"""Names of both IRs' numbers. Written by ``tools/write_vocabulary.py`` from the data sheets; do not edit."""

from __future__ import annotations

from pyaco._core.common.vocabulary import Word, Words


class OperandFlag(Words):
    """OperandFlag: columns flags of operands."""

    TEMP = Word(1, "temp")  # data: temp id
    CONSTANT = Word(2, "constant")  # data: low 32 bits of the value; reg: hardware source code * 4 (128..208 integers, 240..248 floats, 255 literal)
    UNDEF = Word(4, "undef")
    FIXED = Word(8, "fixed")  # reg holds an assigned register
    KILL = Word(0x10, "kill")  # last use on this path: dead after the instruction
    FIRST_KILL = Word(0x20, "first_kill")  # the first operand of the instruction that names this killed temp
    LATE_KILL = Word(0x40, "latekill")  # must not share a register with a definition
    OPERAND_16BIT = Word(0x80, "is16bit")  # only the low 16 bits are read
    OPERAND_24BIT = Word(0x100, "is24bit")  # known to fit 24 bits unsigned
    COPY_KILL = Word(0x200, "copy_kill")
    SIZE_MASK = Word(0xc00, "size_mask")  # constants: log2 of the size in bytes at bits 10-11
    SIZE_SHIFT = Word(10, "size_shift")


class DefinitionFlag(Words):
    """DefinitionFlag: columns flags of definitions."""

    TEMP = Word(1, "temp")
    FIXED = Word(2, "fixed")  # reg holds an assigned register
    KILL = Word(4, "kill")  # never used
    PRECISE = Word(8, "precise")  # no reassociation, no contraction
    NUW = Word(0x10, "nuw")  # no unsigned wrap
    NO_CSE = Word(0x20, "noCSE")


class BlockKind(Words):
    """BlockKind: bits, by what a block is in the control flow."""

    UNIFORM = Word(1, "uniform")  # leaving it, all active lanes stay active
    TOP_LEVEL = Word(2, "top-level")
    LOOP_PREHEADER = Word(4, "loop-preheader")
    LOOP_HEADER = Word(8, "loop-header")
    LOOP_EXIT = Word(0x10, "loop-exit")
    CONTINUE = Word(0x20, "continue")
    BREAK = Word(0x40, "break")
    CONTINUE_OR_BREAK = Word(0x80, "continue_or_break")
    BRANCH = Word(0x100, "branch")  # ends with a divergent branch
    MERGE = Word(0x200, "merge")
    INVERT = Word(0x400, "invert")
    DISCARD_EARLY_EXIT = Word(0x800, "discard_early_exit")
    USES_DISCARD = Word(0x1000, "uses_discard")
    RESUME = Word(0x2000, "resume")
    EXPORT_END = Word(0x4000, "export_end")
    END_WITH_REGS = Word(0x8000, "end_with_regs")


class StorageClass(Words):
    """StorageClass: bits, of memory operations."""

    NONE = Word(0, "none")
    BUFFER = Word(1, "buffer")
    GDS = Word(2, "gds")
    IMAGE = Word(4, "image")
    SHARED = Word(8, "shared")
    VMEM_OUTPUT = Word(0x10, "vmem_output")
    TASK_PAYLOAD = Word(0x20, "task_payload")
    SCRATCH = Word(0x40, "scratch")
    VGPR_SPILL = Word(0x80, "vgpr_spill")


class MemorySemantic(Words):
    """MemorySemantic: bits."""

    ACQUIRE = Word(1, "acquire")
    RELEASE = Word(2, "release")
    ACQREL = Word(3, "acqrel")
    VOLATILE = Word(4, "volatile")  # cannot be removed or merged
    PRIVATE = Word(8, "private")  # only this lane accesses it; barriers do not matter
    CAN_REORDER = Word(0x10, "reorder")  # read-only memory for the purpose of ordering
    ATOMIC = Word(0x20, "atomic")
    RMW = Word(0x40, "rmw")
    ATOMICRMW = Word(0x64, "atomicrmw")


class SyncScope(Words):
    """SyncScope: of barriers and atomics."""

    INVOCATION = Word(0, "invocation")
    SUBGROUP = Word(1, "subgroup")
    WORKGROUP = Word(2, "workgroup")
    QUEUEFAMILY = Word(3, "queuefamily")
    DEVICE = Word(4, "device")


class FloatMode(Words):
    """FloatMode: fp_mode, hardware bits, then what the program promised."""

    ROUND32_SHIFT = Word(0, "round32_shift")  # 0 nearest even, 1 +inf, 2 -inf, 3 zero
    ROUND16_64_SHIFT = Word(2, "round16_64_shift")
    DENORM32_SHIFT = Word(4, "denorm32_shift")  # 0 flush in and out, 1 allow in, 2 allow out, 3 keep
    DENORM16_64_SHIFT = Word(6, "denorm16_64_shift")
    PRESERVE_SIGNED_ZERO_INF_NAN32 = Word(0x100, "preserve_signed_zero_inf_nan32")
    PRESERVE_SIGNED_ZERO_INF_NAN16_64 = Word(0x200, "preserve_signed_zero_inf_nan16_64")
    MUST_FLUSH_DENORMS32 = Word(0x400, "must_flush_denorms32")
    MUST_FLUSH_DENORMS16_64 = Word(0x800, "must_flush_denorms16_64")
    CARE_ABOUT_ROUND32 = Word(0x1000, "care_about_round32")
    CARE_ABOUT_ROUND16_64 = Word(0x2000, "care_about_round16_64")


class EdgeKind(Words):
    """EdgeKind: which control-flow graph."""

    LOGICAL = Word(0, "logical")
    LINEAR = Word(1, "linear")


class SoftwareStage(Words):
    """SoftwareStage: bits."""

    VS = Word(1, "VS")  # vertex
    GS = Word(2, "GS")  # geometry
    TCS = Word(4, "TCS")  # tessellation control
    TES = Word(8, "TES")  # tessellation evaluation
    FS = Word(0x10, "FS")  # fragment
    CS = Word(0x20, "CS")  # compute
    TS = Word(0x40, "TS")  # task
    MS = Word(0x80, "MS")  # mesh
    RT = Word(0x100, "RT")  # ray tracing
    VS_GS = Word(3, "vs_gs")  # merged from GFX9 on
    VS_TCS = Word(5, "vs_tcs")
    TES_GS = Word(10, "tes_gs")


class HardwareStage(Words):
    """HardwareStage: what the command processor launches."""

    LOCAL = Word(0, "LOCAL_SHADER")  # LS: vertex shaders before tessellation, until GFX8
    HULL = Word(1, "HULL_SHADER")  # HS: tessellation control, from GFX9 on with the vertex shader before it
    EXPORT = Word(2, "EXPORT_SHADER")  # ES: vertex shaders before geometry shaders, until GFX8
    LEGACY_GEOMETRY = Word(3, "LEGACY_GEOMETRY_SHADER")  # GS, from GFX9 on with the shader before it
    VERTEX = Word(4, "VERTEX_SHADER")  # VS: the last before rasterization, and copies from a GS ring, until GFX10.3
    NEXT_GEN_GEOMETRY = Word(5, "NEXT_GEN_GEOMETRY_SHADER")  # NGG: one stage for all of them, from GFX10 on
    PIXEL = Word(6, "PIXEL_SHADER")  # PS
    COMPUTE = Word(7, "COMPUTE_SHADER")  # compute, task and ray tracing


class Progress(Words):
    """Progress: how far the backend has come."""

    ISEL = Word(0, "After Instruction Selection:")
    SPILLING = Word(1, "After Spilling:")
    RA = Word(2, "After RA:")
    LOWER_TO_HW = Word(3, "lower_to_hw")


class Stage(Words):
    """Stage: of the API, numbered as Mesa's ``gl_shader_stage``."""

    VERTEX = Word(0, "vertex")
    TESS_CTRL = Word(1, "tess_ctrl")
    TESS_EVAL = Word(2, "tess_eval")
    GEOMETRY = Word(3, "geometry")
    FRAGMENT = Word(4, "fragment")
    COMPUTE = Word(5, "compute")
    TASK = Word(6, "task")
    MESH = Word(7, "mesh")
    RAYGEN = Word(8, "raygen")
    ANY_HIT = Word(9, "any_hit")
    CLOSEST_HIT = Word(10, "closest_hit")
    MISS = Word(11, "miss")
    INTERSECTION = Word(12, "intersection")
    CALLABLE = Word(13, "callable")
    KERNEL = Word(14, "kernel")  # OpenCL


class NirKind(Words):
    """NirKind: kinds of instructions."""

    ALU = Word(1, "alu")  # opcode alu_*; sources with swizzles
    DEREF = Word(2, "deref")  # opcode deref_*; the result is a pointer
    LOAD_CONST = Word(3, "load_const")  # data: first row in Constants, one per component
    UNDEF = Word(4, "undef")
    PHI = Word(5, "phi")  # a source per predecessor; Sources.swizzle holds the predecessor's block node
    INTRINSIC = Word(6, "intrinsic")  # opcode intrinsic_*; data: first row in Indices
    JUMP = Word(7, "jump")  # opcode jump_*
    TEX = Word(8, "tex")  # opcode tex_*; Sources.swizzle: tex_source_*; data: row in Textures


class Jump(Words):
    """Jump: opcodes of jumps."""

    RETURN = Word(0, "return")
    HALT = Word(1, "halt")
    BREAK = Word(2, "break")
    CONTINUE = Word(3, "continue")


class Deref(Words):
    """Deref: opcodes of derefs; `type` is the type pointed to, `mode` the variable mode."""

    VAR = Word(0, "var")  # data: variable
    ARRAY = Word(1, "array")  # sources: parent, index
    ARRAY_WILDCARD = Word(2, "array_wildcard")
    PTR_AS_ARRAY = Word(3, "ptr_as_array")  # sources: parent, index; the stride is the parent's (cast's) pointer stride
    STRUCT = Word(4, "struct")  # sources: parent; data: member
    CAST = Word(5, "cast")  # sources: value; data: pointer stride in bytes


class VariableMode(Words):
    """VariableMode: bits, which memory a variable is in or a pointer points to."""

    FUNCTION_TEMP = Word(1, "function_temp")
    SHADER_TEMP = Word(2, "shader_temp")  # Private
    SHARED = Word(4, "shared")
    UBO = Word(8, "ubo")
    SSBO = Word(0x10, "ssbo")
    PUSH_CONSTANT = Word(0x20, "push_const")
    GLOBAL = Word(0x40, "global")  # physical storage buffer
    SYSTEM_VALUE = Word(0x80, "system")
    CONSTANT = Word(0x100, "constant")  # constant initialised, read-only tables
    UNIFORM = Word(0x200, "uniform")  # opaque: sampled textures, samplers
    SHADER_IN = Word(0x400, "shader_in")  # inputs of the stage: vertex attributes, what the stage before wrote
    SHADER_OUT = Word(0x800, "shader_out")  # outputs of the stage
    IMAGE = Word(0x1000, "image")  # storage images
    TASK_PAYLOAD = Word(0x2000, "task_payload")  # from a task shader to its mesh shaders
    SHADER_CALL_DATA = Word(0x4000, "shader_call_data")  # ray tracing: payloads of calls
    RAY_HIT_ATTRIBUTE = Word(0x8000, "ray_hit_attrib")


class Interpolation(Words):
    """Interpolation: of inputs of fragment shaders."""

    NONE = Word(0, "INTERP_MODE_NONE")  # the type decides: smooth for floats, flat for integers
    SMOOTH = Word(1, "INTERP_MODE_SMOOTH")  # perspective correct
    FLAT = Word(2, "INTERP_MODE_FLAT")
    NOPERSPECTIVE = Word(3, "INTERP_MODE_NOPERSPECTIVE")  # linear in screen space
    EXPLICIT = Word(4, "INTERP_MODE_EXPLICIT")  # the shader reads the values at the vertices


class VariableFlag(Words):
    """VariableFlag: bits."""

    ALIVE = Word(1, "alive")
    CENTROID = Word(2, "centroid")
    SAMPLE = Word(4, "sample")
    PATCH = Word(8, "patch")  # once per patch, not per vertex
    INVARIANT = Word(0x10, "invariant")
    PER_VIEW = Word(0x20, "per_view")
    PER_PRIMITIVE = Word(0x40, "per_primitive")


class NirFlag(Words):
    """NirFlag: bits, of instructions."""

    EXACT = Word(1, "exact")  # NoContraction: no rounding-changing rewrite
    DIVERGENT = Word(2, "divergent")  # written by divergence analysis
    NO_SIGNED_WRAP = Word(4, "no_signed_wrap")
    NO_UNSIGNED_WRAP = Word(8, "no_unsigned_wrap")
    PASS_FLAG = Word(0x100, "pass_flag")  # scratch of one pass
    CONVERGENT_UNIFORM = Word(0x200, "convergent_uniform")


class Access(Words):
    """Access: bits, of memory intrinsics and variables."""

    COHERENT = Word(1, "coherent")
    RESTRICT = Word(2, "restrict")
    VOLATILE = Word(4, "volatile")
    NON_READABLE = Word(8, "writeonly")
    NON_WRITEABLE = Word(0x10, "readonly")
    NON_UNIFORM = Word(0x20, "non-uniform")  # the descriptor may differ between lanes
    CAN_REORDER = Word(0x40, "reorderable")
    NON_TEMPORAL = Word(0x80, "non-temporal")
    ATOMIC = Word(0x100, "atomic")  # an atomic load or store, which others may wait for
    IS_SWIZZLED_AMD = Word(0x200, "is-swizzled-amd")  # the descriptor spreads an element over memory
    USES_FORMAT_AMD = Word(0x400, "uses-format-amd")  # what is loaded is converted from the descriptor's format


class AtomicOperation(Words):
    """AtomicOperation: index_atomic_op."""

    IADD = Word(0, "iadd")
    IMIN = Word(1, "imin")
    UMIN = Word(2, "umin")
    IMAX = Word(3, "imax")
    UMAX = Word(4, "umax")
    IAND = Word(5, "iand")
    IOR = Word(6, "ior")
    IXOR = Word(7, "ixor")
    XCHG = Word(8, "xchg")
    FADD = Word(9, "fadd")
    FMIN = Word(10, "fmin")
    FMAX = Word(11, "fmax")
    CMPXCHG = Word(12, "cmpxchg")


class DescriptorKind(Words):
    """DescriptorKind: index_desc_type, values of VkDescriptorType."""

    SAMPLER = Word(0, "sampler")
    TEXTURE_AND_SAMPLER = Word(1, "texture+sampler")
    TEXTURE = Word(2, "texture")
    IMAGE = Word(3, "image")
    TEXTURE_BUFFER = Word(4, "texture-buffer")
    IMAGE_BUFFER = Word(5, "image-buffer")
    UBO = Word(6, "UBO")
    SSBO = Word(7, "SSBO")
    INPUT_ATTACHMENT = Word(10, "input-att")


class NirScope(Words):
    """NirScope: of barriers."""

    NONE = Word(0, "NONE")
    INVOCATION = Word(1, "INVOCATION")
    SUBGROUP = Word(2, "SUBGROUP")
    WORKGROUP = Word(4, "WORKGROUP")
    QUEUE_FAMILY = Word(5, "QUEUE_FAMILY")
    DEVICE = Word(6, "DEVICE")


class NirSemantic(Words):
    """NirSemantic: bits, of barriers."""

    ACQUIRE = Word(1, "ACQ")
    RELEASE = Word(2, "REL")


class NodeKind(Words):
    """NodeKind: of control-flow nodes; node 0 is none, node 1 the function."""

    FUNCTION = Word(1, "function")  # list 0: body
    BLOCK = Word(2, "block")
    IF = Word(3, "if")  # list 0: then, list 1: else; condition: a value of bit size 1
    LOOP = Word(4, "loop")  # list 0: body


class LoopControl(Words):
    """LoopControl: what the author of a loop asks for."""

    NONE = Word(0, "none")
    UNROLL = Word(1, "unroll")
    DONT_UNROLL = Word(2, "dont_unroll")


class BaseType(Words):
    """BaseType: what a type is."""

    VOID = Word(0, "void")
    INT = Word(1, "int")  # same numbers as in nir_opcodes.pxd
    UINT = Word(2, "uint")
    FLOAT = Word(3, "float")
    BOOL = Word(4, "bool")
    STRUCT = Word(5, "struct")
    ARRAY = Word(6, "array")  # length 0: runtime sized
    POINTER = Word(7, "pointer")  # physical pointer: a 64-bit integer; element is the type pointed to
    MATRIX = Word(8, "matrix")  # element: column vector type, length: columns
    OPAQUE = Word(9, "opaque")
    SAMPLER = Word(10, "sampler")  # a sampler alone
    TEXTURE = Word(11, "texture")  # element: scalar type that sampling gives, void if not known; image_dim, image_flags
    SAMPLED_IMAGE = Word(12, "sampled_image")  # a texture with its sampler; as type_texture
    IMAGE = Word(13, "image")  # a storage image; as type_texture


class ImageDim(Words):
    """ImageDim: numbered as Mesa's ``glsl_sampler_dim``."""

    IMAGE_1D = Word(0, "1d")
    IMAGE_2D = Word(1, "2d")
    IMAGE_3D = Word(2, "3d")
    CUBE = Word(3, "cube")
    RECT = Word(4, "rect")  # coordinates in texels
    BUFFER = Word(5, "buf")
    EXTERNAL = Word(6, "external")
    MS = Word(7, "ms")  # several samples a texel
    SUBPASS = Word(8, "subpass")  # input attachments
    SUBPASS_MS = Word(9, "subpass_ms")


class ImageFlag(Words):
    """ImageFlag: bits, of types and texture instructions."""

    ARRAY = Word(1, "array")
    SHADOW = Word(2, "shadow")  # compares with a reference


class ImageFormat(Words):
    """ImageFormat: index_format, numbered as SPIR-V's Image Format; text has the short names of Mesa's formats."""

    UNKNOWN = Word(0, "none")  # the descriptor has it
    RGBA32F = Word(1, "r32g32b32a32_float")
    RGBA16F = Word(2, "r16g16b16a16_float")
    R32F = Word(3, "r32_float")
    RGBA8 = Word(4, "r8g8b8a8_unorm")
    RGBA8_SNORM = Word(5, "r8g8b8a8_snorm")
    RG32F = Word(6, "r32g32_float")
    RG16F = Word(7, "r16g16_float")
    R11F_G11F_B10F = Word(8, "r11g11b10_float")
    R16F = Word(9, "r16_float")
    RGBA16 = Word(10, "r16g16b16a16_unorm")
    RGB10_A2 = Word(11, "r10g10b10a2_unorm")
    RG16 = Word(12, "r16g16_unorm")
    RG8 = Word(13, "r8g8_unorm")
    R16 = Word(14, "r16_unorm")
    R8 = Word(15, "r8_unorm")
    RGBA16_SNORM = Word(0x10, "r16g16b16a16_snorm")
    RG16_SNORM = Word(0x11, "r16g16_snorm")
    RG8_SNORM = Word(0x12, "r8g8_snorm")
    R16_SNORM = Word(0x13, "r16_snorm")
    R8_SNORM = Word(0x14, "r8_snorm")
    RGBA32I = Word(0x15, "r32g32b32a32_sint")
    RGBA16I = Word(0x16, "r16g16b16a16_sint")
    RGBA8I = Word(0x17, "r8g8b8a8_sint")
    R32I = Word(0x18, "r32_sint")
    RG32I = Word(0x19, "r32g32_sint")
    RG16I = Word(0x1a, "r16g16_sint")
    RG8I = Word(0x1b, "r8g8_sint")
    R16I = Word(0x1c, "r16_sint")
    R8I = Word(0x1d, "r8_sint")
    RGBA32UI = Word(0x1e, "r32g32b32a32_uint")
    RGBA16UI = Word(0x1f, "r16g16b16a16_uint")
    RGBA8UI = Word(0x20, "r8g8b8a8_uint")
    R32UI = Word(0x21, "r32_uint")
    RGB10_A2UI = Word(0x22, "r10g10b10a2_uint")
    RG32UI = Word(0x23, "r32g32_uint")
    RG16UI = Word(0x24, "r16g16_uint")
    RG8UI = Word(0x25, "r8g8_uint")
    R16UI = Word(0x26, "r16_uint")
    R8UI = Word(0x27, "r8_uint")
    R64UI = Word(0x28, "r64_uint")
    R64I = Word(0x29, "r64_sint")


class TextureFlag(Words):
    """TextureFlag: bits, of texture instructions alone."""

    IS_SPARSE = Word(1, "sparse")  # the last component of the result says whether the texels are resident
    IMPLICIT_LOD = Word(2, "implicit lod")  # tg4 chooses its level as tex does
    NON_UNIFORM = Word(4, "texture non-uniform")  # the texture may differ between lanes
    SAMPLER_NON_UNIFORM = Word(8, "sampler non-uniform")
    SHADOW_SCALAR = Word(0x10, "scalar")  # a comparison gives one component (Mesa: ``is_new_style_shadow``)
    CUBE_FACE = Word(0x20, "cube face")  # coordinates are s, t and the number of a face, plus eight times the layer


class ArgumentKind(Words):
    """ArgumentKind."""

    SCRATCH_ADDRESS = Word(0, "scratch_address")
    DESCRIPTOR_SET = Word(1, "descriptor_set")  # detail: set
    PUSH_CONSTANTS = Word(2, "push_constants")
    NUM_WORKGROUPS = Word(3, "num_workgroups")
    WORKGROUP_ID = Word(4, "workgroup_id")  # detail: dimension
    SCRATCH_WAVE_OFFSET = Word(5, "scratch_wave_offset")
    LOCAL_IDS = Word(6, "local_ids")  # VGPRs; detail: 1 packed
    INLINE_PUSH_CONSTANT = Word(7, "inline_push_constant")


class DerivativeGroup(Words):
    """DerivativeGroup: which invocations derivatives of compute shaders are differences of."""

    NONE = Word(0, "none")
    QUADS = Word(1, "quads")  # two by two invocations
    LINEAR = Word(2, "linear")  # four invocations that follow each other
