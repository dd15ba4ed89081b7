"""The loop of the pass manager (``pyaco.passes``): it runs prepared passes over one IR.

Between two kernels stand a call, a look at the clock and a row in an array. Kernels that are native (``pass_runner.pxd``) run one after another
without the interpreter, whose calls and lock would take longer than a pass over a small shader.

A step that changed nothing is not run again before another step has
changed something, in whatever group it stands next: kernels are functions of the IR and of their options, and promise by False that
nothing has changed. So the last round of a group that repeats only runs what the last change may have given work. Passes of users may change the
IR without saying so: they always run, and count as a change. A step is also left out where the shader has none of the things that the pass is
about (``shader_facts.pxd``); facts are found again when a change has been followed by a step that asks for them. While somebody observes the IR
after each pass, every step runs, so that there is something to see.
"""
from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from pyaco._core.ir.program cimport Program
from pyaco._core.ir.shader cimport Shader, ShaderData
from pyaco._core.ir.shader_facts cimport shader_facts

# Rounds of a group that repeats; optimisations make each round smaller, this only ends what would not end.
cdef enum:
    maximum_rounds = 32

cdef extern from *:
    """
    #include <chrono>
    static inline int64_t steady_nanoseconds() {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    """
    int64_t steady_nanoseconds() noexcept nogil


cdef class NativeKernel:
    """A kernel that is called without the interpreter."""

    def bound(self, dict options, int level):
        """The kernel with the options of a step at a gfx level."""
        cdef NativeKernel made = NativeKernel()
        made.function = self.function
        made.option = 0 if self.option_of is None else self.option_of(options, level)
        return made


cdef NativeKernel native_kernel(kernel_function function, option_of=None):
    cdef NativeKernel made = NativeKernel()
    made.function = function
    made.option_of = option_of
    return made


cdef class PreparedStep:
    """A step of a pipeline that is ready to run, or a group that runs until a round changes nothing.

    Parameters
    ----------
    record : tuple of (str, str)
        Room and name.
    function : callable or None
        The kernel; None for a group.
    options : dict or None
        All options of the kernel; None for a user's function, which takes the IR alone.
    slot : int
        Steps that do the same have one number, from 0 on; -1: a step that is never left out.
    members : tuple of PreparedStep
        Of a group.
    native : NativeKernel, optional
        What `function` does with these options, where it can do without the interpreter.
    only_with : int
        Facts of a shader (``shader_facts.pxd``) without any of which it changes nothing; 0: it always runs.
    """
    cdef readonly tuple record
    cdef readonly object function
    cdef readonly object options
    cdef readonly int slot
    cdef readonly tuple members
    cdef readonly NativeKernel native
    cdef readonly uint32_t only_with

    def __init__(self, tuple record, function, options, int slot, tuple members=(), NativeKernel native=None, uint32_t only_with=0):
        self.record = record
        self.function = function
        self.options = options
        self.slot = slot
        self.members = members
        self.native = native
        self.only_with = only_with


cdef class PassLog:
    """Which passes ran, and how long each took."""
    cdef list names
    cdef vector[int64_t] nanoseconds
    cdef int64_t mark

    def __cinit__(self):
        self.names = []
        self.mark = steady_nanoseconds()

    def start(self):
        """What is noted next begins now."""
        self.mark = steady_nanoseconds()

    cdef int64_t add(self, tuple record, int64_t end) except -1:
        """Note what ended at a time, and return how long it took."""
        cdef int64_t taken = end - self.mark
        self.mark = end
        self.names.append(record)
        self.nanoseconds.push_back(taken)
        return taken

    def note(self, str room, str name):
        """Note what ended now, and return the seconds that it took."""
        return self.add((room, name), steady_nanoseconds()) * 1e-9

    def rows(self):
        """Room, name and milliseconds of each pass that ran, in order."""
        cdef size_t k
        return [(*self.names[k], self.nanoseconds[k] * 1e-6) for k in range(self.nanoseconds.size())]


cdef struct NativeStep:
    kernel_function function
    int option
    int slot
    uint32_t only_with


cdef class _Runner:
    cdef object ir
    cdef void *data                   # of the IR: what native kernels take
    cdef const ShaderData *shader     # the same where it is NIR
    cdef uint32_t facts               # of the shader ...
    cdef uint32_t facts_version       # ... as it was at this version, plus one; 0 none
    cdef PassLog log
    cdef object observe
    cdef uint32_t version             # of the IR: counts changes
    cdef vector[NativeStep] batch
    cdef vector[uint32_t] ran         # of the batch: those that were not left out ...
    cdef vector[int64_t] ends         # ... and when they ended
    cdef vector[uint32_t] unchanged   # by slot: the version that the step was seen to leave as it is, plus one; 0 none

    cdef bint steps(self, tuple steps) except -1:
        cdef PreparedStep step
        cdef bint changed
        cdef bint progress = False
        cdef int64_t taken
        cdef Py_ssize_t k = 0
        while k < len(steps):
            step = steps[k]
            if step.native is not None and self.data != NULL:
                progress |= self.native_steps(steps, &k)
                continue
            k += 1
            if step.function is None:
                progress |= self.rounds(step.members)
                continue
            if self.observe is None and self.has_no_work(step.slot, step.only_with):
                continue
            if step.options is None:
                changed = step.function(self.ir)
                self.version += 1
            else:
                changed = step.function(self.ir, step.options)
                self.version += changed
            if step.slot >= 0 and not changed:
                self.note_idle(step.slot)
            progress |= changed
            taken = self.log.add(step.record, steady_nanoseconds())
            if self.observe is not None:
                self.observe(step.record[0], step.record[1], self.ir, taken * 1e-9)
                self.log.start()
        return progress

    cdef inline bint has_no_work(self, int slot, uint32_t only_with) noexcept nogil:
        """Whether a step is known to leave the IR as it is."""
        if slot >= 0 and <size_t>slot < self.unchanged.size() and self.unchanged[slot] == self.version + 1:
            return True
        if only_with == 0 or self.shader == NULL:
            return False
        if self.facts_version != self.version + 1:
            self.facts = shader_facts(self.shader)
            self.facts_version = self.version + 1
        return self.facts & only_with == 0

    cdef int note_idle(self, int slot) except -1 nogil:
        if <size_t>slot >= self.unchanged.size():
            self.unchanged.resize(slot + 1, 0)
        self.unchanged[slot] = self.version + 1
        return 0

    cdef bint native_steps(self, tuple steps, Py_ssize_t *at) except -1:
        """Run the native steps from `at[0]` on, which becomes the first that is none."""
        cdef Py_ssize_t first = at[0]
        cdef PreparedStep step
        cdef NativeStep one
        cdef uint32_t k
        cdef bint progress = False
        self.batch.clear()
        self.ran.clear()
        self.ends.clear()
        while at[0] < len(steps):
            step = steps[at[0]]
            if step.native is None:
                break
            one.function, one.option, one.slot, one.only_with = step.native.function, step.native.option, step.slot, step.only_with
            self.batch.push_back(one)
            at[0] += 1
        try:
            with nogil:
                progress = self.run_batch()
        finally:
            for k in range(<uint32_t>self.ends.size()):
                step = steps[first + self.ran[k]]
                self.log.add(step.record, self.ends[k])
        return progress

    cdef bint run_batch(self) except -1 nogil:
        cdef bint progress = False
        cdef bint changed
        cdef uint32_t k
        cdef NativeStep one
        for k in range(<uint32_t>self.batch.size()):
            one = self.batch[k]
            if self.has_no_work(one.slot, one.only_with):
                continue
            changed = one.function(self.data, one.option)
            self.version += changed
            if one.slot >= 0 and not changed:
                self.note_idle(one.slot)
            progress |= changed
            self.ran.push_back(k)
            self.ends.push_back(steady_nanoseconds())
        return progress

    cdef bint rounds(self, tuple members) except -1:
        cdef int k
        for k in range(maximum_rounds):
            if not self.steps(members):
                return k > 0
        return True


cdef void *_data_of(ir) noexcept:
    if type(ir) is Shader:
        return &(<Shader>ir).data
    return &(<Program>ir).data if type(ir) is Program else NULL


def run_steps(tuple steps, ir, PassLog log not None, observe=None):
    """Run prepared steps; False promises that nothing has changed.

    Parameters
    ----------
    steps : tuple of PreparedStep
    ir : Shader or Program
    log : PassLog
        Takes down what ran.
    observe : callable, optional
        Called with room, name, IR and seconds after each step.
    """
    cdef _Runner runner = _Runner()
    runner.ir = ir
    runner.log = log
    runner.observe = observe
    runner.data = _data_of(ir) if observe is None else NULL
    runner.shader = &(<Shader>ir).data if type(ir) is Shader else NULL
    log.start()
    return runner.steps(steps)
