"""What a compilation without the interpreter knows. The data sheet is ``compilation.pxd``."""
from libc.string cimport memset

from pyaco._core.ir.metadata cimport DeclaredArguments, Metadata, ModuleFacts
from pyaco._core.ir.program cimport Program, ProgramData, class_s1, class_s2
from pyaco._core.ir.shader cimport Shader, ShaderData

cdef enum:
    narrow_lanes = 32
    wide_lanes = 64
    address32_hi = 0xffff8000U        # high half of the addresses of descriptor sets


cdef bytes reflected_bindings(Metadata facts):
    cdef ModuleFacts module = facts.module
    return module.bindings if module is not None else repr(facts.known.get("descriptor_sets")).encode()


cdef int compilation_begin(Compilation *compilation, Shader shader) except -1:
    cdef dict known = shader.facts.known
    memset(compilation, 0, sizeof(Compilation))
    compilation.shader = &shader.data
    compilation.has_matrices = bool(known.get("cooperative_matrices"))
    layout = known.get("pipeline_layout")
    compilation.has_layout = layout is not None or bool(known.get("descriptor_layout"))
    compilation.fragment_masks = layout is not None and layout.fragment_masks
    return 0


cdef int compilation_report(Compilation *compilation, Metadata facts) except -1:
    cdef KeptArguments *arguments = compilation.arguments
    compilation.arguments = NULL
    if arguments != NULL:
        facts.declared = <DeclaredArguments>arguments.owner
        arguments.users.fetch_sub(1)
    return 0


cdef class Reading:
    cdef int read(self, Compilation *compilation) except -1 nogil:
        with gil:
            raise NotImplementedError

    cdef int report(self) except -1:
        raise NotImplementedError

    def run(self):
        """Read alone; returns the shader."""
        cdef Compilation compilation
        compilation_begin(&compilation, self.shader)
        with nogil:
            self.read(&compilation)
        self.report()
        return self.shader


cdef class Target:
    """What is compiled for.

    Parameters
    ----------
    gfx_level : int
    wave_size : int
        32, 64, or 0: as RADV chooses for a compute shader without a required subgroup size (its ``radv_shader_info.c``).
    narrow, wide : dict or None
        Limits of waves of 32 and of 64 lanes (``pyaco.targets.wave_limits(...).as_dict()``), where those are known to the chip.
    narrow_with_matrices : bool
        Cooperative matrices are multiplied by instructions in narrow waves.
    wgp_mode : bool
        The waves of a workgroup may run on both compute units of a pair.
    """

    def __init__(self, int gfx_level, int wave_size, dict narrow, dict wide, bint narrow_with_matrices=False, bint wgp_mode=False):
        self.gfx_level = gfx_level
        self.wave_size = wave_size
        self.has_narrow_waves = narrow is not None
        self.narrow_with_matrices = narrow_with_matrices
        self.wgp_mode = wgp_mode
        if narrow is not None:
            self.narrow = narrow
        if wide is not None:
            self.wide = wide

    cdef void apply(self, ShaderData *shader, ProgramData *program, bint has_matrices) noexcept nogil:
        cdef uint32_t *size = shader.info.workgroup_size
        cdef bint narrow = self.wave_size == narrow_lanes
        if self.wave_size == 0 and self.has_narrow_waves:
            narrow = size[0] * size[1] * size[2] <= narrow_lanes or (has_matrices and self.narrow_with_matrices)
        shader.info.gfx_level = program.gfx_level = self.gfx_level
        shader.info.wave_size = program.wave_size = narrow_lanes if narrow else wide_lanes
        shader.info.address32_hi = program.address32_hi = address32_hi
        program.workgroup_size = size[0] * size[1] * size[2]
        program.lane_mask = class_s1 if narrow else class_s2
        program.wgp_mode = self.wgp_mode
        program.device = self.narrow if narrow else self.wide

    def aim(self, Shader shader not None, Program program not None):
        """Say what a shader and the program to be made of it are compiled for."""
        self.apply(&shader.data, &program.data, bool(shader.facts.known.get("cooperative_matrices")))
