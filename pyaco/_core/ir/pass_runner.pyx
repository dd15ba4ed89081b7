"""The loop of the pass manager (``pyaco.passes``): it runs prepared passes over one IR.

A pipeline is laid out once, as a row of steps in an array (`Plan`): between two kernels stand a call and a look at the clock. Kernels that are
native (``pass_runner.pxd``) run without the interpreter, whose calls and lock would take longer than a pass over a small shader.

A step that changed nothing is not run again before another step has
changed something, in whatever group it stands next: kernels are functions of the IR and of their options, and promise by False that
nothing has changed. Records of passes promise more: that a pass `settles`, so that a second run right behind the first would change nothing,
and which kinds of changes (`EFFECTS`) give it no work. So the last round of a group that repeats only runs what the last change may have given
work. Passes of users may change the
IR without saying so: they always run, and count as a change. A step is also left out where the shader has none of the things that the pass is
about (``shader_facts.pxd``); facts are looked for again when a change has been followed by a step that asks for them, no further than to the first
that it asks for. While somebody observes the IR after each pass, every step runs, so that there is something to see.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from pyaco._core.ir.compilation cimport Compilation, Reading, Target, compilation_begin, compilation_report, left_to_python, reflected_bindings
from pyaco._core.ir.program cimport Program
from pyaco._core.ir.shader cimport Shader, ShaderData
from pyaco._core.ir.shader_free cimport shader_free
from pyaco._core.ir.shader_facts cimport FactSearch, search_again, search_begin, shader_has
from pyaco._core.ir.translation cimport Translation

#: Kinds of changes by name: instructions that nothing needs go; reads of a value become reads of an equal one that was there before, and the
#: value goes; instructions move, or are made again where they are read from then on, of the same operations; reads of a copy become reads of
#: what it is a copy of; instructions become constants; any other.
EFFECTS = {"dead code": 0, "equal values": 1, "moved": 2, "copies": 3, "constants": 4, "any": 5}

cdef enum:
    effect_dead_code = 0
    effect_copies = 3             # from here on, what a steady kernel cares for
    effect_constants = 4          # from here on, what may bring to a shader what was not there
    effect_any = 5                # the last
    effect_kinds = 6

# Rounds of a group that repeats; optimisations make each round smaller, this only ends what would not end.
cdef enum:
    maximum_rounds = 32

# Ticks are those of the processor's counter, where it is known to be one that any code may read: the system's clock takes four times as long, and
# on small shaders that was a fiftieth of everything. Their length is found by comparing both, when somebody asks for times.
cdef extern from *:
    """
    #include <chrono>
    static inline int64_t steady_nanoseconds() {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    #include <time.h>
    static bool processor_time = false;     // of the thread, for benchmarks on a busy machine
    static inline int64_t thread_nanoseconds() {
        struct timespec now;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return now.tv_sec * (int64_t)1000000000 + now.tv_nsec;
    }
    #ifdef __x86_64__
    #include <x86intrin.h>
    static inline int64_t steady_ticks() { return processor_time ? thread_nanoseconds() : (int64_t)__rdtsc(); }
    #else
    static inline int64_t steady_ticks() { return processor_time ? thread_nanoseconds() : steady_nanoseconds(); }
    #endif
    """
    bint processor_time
    int64_t steady_nanoseconds() noexcept nogil
    int64_t steady_ticks() noexcept nogil


def count_processor_time(bint on):
    """Whether logs that begin from now on have the processor's time of their thread instead of the clock's."""
    global processor_time
    processor_time = on


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
    in_compilation : NativeKernel, optional
        The same where only a compilation can (``compilation.pxd``).
    only_with : int
        Facts of a shader (``shader_facts.pxd``) without any of which it changes nothing; 0: it always runs.
    effect : str
        The kind of its changes (`EFFECTS`).
    indifferent_to : tuple of str
        Kinds of changes that give it no work.
    settles : bool
        A second run right behind the first would change nothing.
    """
    cdef readonly tuple record
    cdef readonly object function
    cdef readonly object options
    cdef readonly int slot
    cdef readonly tuple members
    cdef readonly NativeKernel native
    cdef readonly NativeKernel in_compilation
    cdef readonly uint32_t only_with
    cdef readonly str effect
    cdef readonly tuple indifferent_to
    cdef readonly bint settles

    def __init__(self, tuple record, function, options, int slot, tuple members=(), NativeKernel native=None, uint32_t only_with=0,
                 str effect="any", tuple indifferent_to=(), bint settles=False, NativeKernel in_compilation=None):
        self.record = record
        self.function = function
        self.options = options
        self.slot = slot
        self.members = members
        self.native = native
        self.in_compilation = in_compilation
        self.only_with = only_with
        self.effect = effect
        self.indifferent_to = indifferent_to
        self.settles = settles


cdef struct PlanRow:
    kernel_function function      # NULL: Python runs it
    kernel_function in_compilation    # takes a Compilation
    int option
    int slot                      # -1: it is never left out
    uint32_t only_with
    uint32_t group_end            # of a group that repeats: the row behind its last step; 0: a step
    uint8_t cares                 # a bit for each kind of change that may give it work
    uint8_t effect
    bint settles


cdef class Plan:
    """The steps of a pipeline, laid out to be run.

    Parameters
    ----------
    steps : tuple of PreparedStep
    """
    cdef vector[PlanRow] rows
    cdef list steps                   # by row
    cdef uint32_t slots

    def __init__(self, tuple steps not None):
        self.steps = []
        self._add(steps)

    cdef int _add(self, tuple steps) except -1:
        cdef PreparedStep step
        cdef PlanRow row
        cdef size_t at
        for step in steps:
            row.function = row.in_compilation = NULL
            row.option = 0
            if step.native is not None:
                row.function, row.option = step.native.function, step.native.option
            elif step.in_compilation is not None:
                row.in_compilation, row.option = step.in_compilation.function, step.in_compilation.option
            row.slot, row.only_with, row.group_end, row.settles = step.slot, step.only_with, 0, step.settles
            row.effect = EFFECTS[step.effect]
            row.cares = (1 << effect_kinds) - 1
            for name in step.indifferent_to:
                row.cares &= ~(1 << <int>EFFECTS[name])
            if step.slot >= 0 and <uint32_t>step.slot >= self.slots:
                self.slots = step.slot + 1
            at = self.rows.size()
            self.rows.push_back(row)
            self.steps.append(step)
            if step.function is None:
                self._add(step.members)
                self.rows[at].group_end = <uint32_t>self.rows.size()
        return 0


cdef struct Idle:                     # a step without work
    uint32_t version                  # that the IR was seen to have, plus one; 0: it may have work
    uint8_t cares                     # as PlanRow.cares


cdef enum:
    no_plan = 0xffffffff

cdef struct LogRow:
    uint32_t plan                     # no_plan: what was noted by name
    uint32_t row                      # of the plan, or of the names
    int64_t ticks


cdef class PassLog:
    """Which passes ran, and how long each took."""
    cdef list plans
    cdef list names
    cdef vector[LogRow] log
    cdef int64_t mark
    cdef int64_t first_tick               # and the time then
    cdef int64_t first_nanosecond

    def __cinit__(self):
        self.plans = []
        self.names = []
        self.log.reserve(128)
        self.first_nanosecond = steady_nanoseconds()
        self.first_tick = self.mark = steady_ticks()

    def start(self):
        """What is noted next begins now."""
        self.mark = steady_ticks()

    cdef int add(self, uint32_t plan, uint32_t row) except -1 nogil:
        """Note what ends now."""
        cdef LogRow one
        cdef int64_t end = steady_ticks()
        one.plan, one.row, one.ticks = plan, row, end - self.mark
        self.mark = end
        self.log.push_back(one)
        return 0

    def note(self, str room, str name):
        """Note what ended now."""
        self.names.append((room, name))
        self.add(no_plan, len(self.names) - 1)

    cdef double _seconds_of_tick(self) noexcept:
        cdef int64_t ticks = steady_ticks() - self.first_tick
        if processor_time:
            return 1e-9
        return (steady_nanoseconds() - self.first_nanosecond) * 1e-9 / ticks if ticks > 0 else 1e-9

    @property
    def last_seconds(self):
        """How long took what was noted last."""
        return self.log.back().ticks * self._seconds_of_tick() if self.log.size() else 0.0

    cdef tuple _record(self, LogRow one):
        if one.plan == no_plan:
            return self.names[one.row]
        return (<PreparedStep>(<Plan>self.plans[one.plan]).steps[one.row]).record

    def rows(self):
        """Room, name and milliseconds of each pass that ran, in order."""
        cdef size_t k
        cdef double milliseconds = self._seconds_of_tick() * 1e3
        return [(*self._record(self.log[k]), self.log[k].ticks * milliseconds) for k in range(self.log.size())]


cdef class _Runner:
    cdef object ir
    cdef void *data                   # of the IR: what native kernels take; NULL where Python has to call them
    cdef const ShaderData *shader     # the same where it is NIR
    cdef FactSearch facts             # of the shader ...
    cdef uint32_t facts_version       # ... as it was at this version, plus one; 0 none
    cdef uint32_t searched_version    # at the last question
    cdef Plan plan
    cdef uint32_t plan_number         # in the log
    cdef PassLog log
    cdef object observe
    cdef bint observed
    cdef Reading reading              # of the compilation; None: there was none, or it has reported
    cdef Compilation *compilation     # NULL: none
    cdef uint32_t version             # of the IR: counts changes
    cdef uint32_t[effect_kinds] latest    # versions that the last changes of each kind made
    cdef vector[Idle] idle            # by slot

    cdef bint steps(self, uint32_t row, uint32_t end) except -1 nogil:
        """Run the rows of the plan from `row` on, up to `end`."""
        cdef bint progress = False
        cdef const PlanRow *one
        while row < end:
            one = &self.plan.rows[row]
            if one.group_end:
                progress |= self.rounds(row + 1, one.group_end)
                row = one.group_end
                continue
            if self.observed or not self.has_no_work(one):
                progress |= self.step(row, one)
            row += 1
        return progress

    cdef bint step(self, uint32_t row, const PlanRow *one) except -1 nogil:
        """Run one step. What is Python's stands elsewhere: a function with objects of its own takes the interpreter's lock when it ends."""
        cdef bint changed
        cdef int result = left_to_python
        if one.function != NULL and self.data != NULL:
            result = one.function(self.data, one.option)
        elif one.in_compilation != NULL and self.compilation != NULL:
            result = one.in_compilation(self.compilation, one.option)
        if result & left_to_python:
            changed = self.call(row, one)
        else:
            changed = result & kernel_changed
            self.note(one, changed, result)
        self.log.add(self.plan_number, row)
        if self.observed:
            self.show(row)
        return changed

    cdef bint call(self, uint32_t row, const PlanRow *one) except -1 with gil:
        cdef PreparedStep step = self.plan.steps[row]
        cdef bint changed
        self.report()
        if step.options is None:
            changed = step.function(self.ir)
            self.note(one, True, 0)
        else:
            changed = step.function(self.ir, step.options)
            self.note(one, changed, 0)
        return changed

    cdef int report(self) except -1:
        """Tell Python what was found without it."""
        if self.reading is not None:
            self.reading.report()
            self.reading = None
        if self.compilation != NULL:
            compilation_report(self.compilation, (<Shader>self.ir).facts)
        return 0

    cdef int show(self, uint32_t row) except -1 with gil:
        room, name = (<PreparedStep>self.plan.steps[row]).record
        self.observe(room, name, self.ir, self.log.last_seconds)
        self.log.start()
        return 0

    cdef inline void note(self, const PlanRow *one, bint changed, int said) noexcept nogil:
        """Take down what a kernel has done, and what it has said of that (``kernel_steady`` and its kin)."""
        if changed:
            self.version += 1
            self.latest[one.effect] = self.version
        if one.slot >= 0 and (one.settles or not changed):
            self.idle[one.slot].version = self.version + 1
            self.idle[one.slot].cares = one.cares
            if said & kernel_steady_with_copies and not changed:
                self.idle[one.slot].cares &= ~((1 << effect_constants) - 1)
            elif said & kernel_steady and not changed:
                self.idle[one.slot].cares &= ~((1 << effect_copies) - 1)
            elif said & kernel_steady_without and not changed:
                self.idle[one.slot].cares &= ~(1 << effect_dead_code)

    cdef inline bint has_no_work(self, const PlanRow *one) noexcept nogil:
        """Whether a step is known to leave the IR as it is."""
        cdef uint32_t kind
        cdef Idle idle
        if one.slot >= 0 and self.idle[one.slot].version:
            idle = self.idle[one.slot]
            if self.version < idle.version:       # nothing has changed at all
                return True
            for kind in range(<uint32_t>effect_kinds):
                if idle.cares >> kind & 1 and self.latest[kind] >= idle.version:
                    break
            else:
                return True
        if one.only_with == 0 or self.shader == NULL:
            return False
        # Most kinds of changes bring nothing that was not there; what they take away a step finds out as soon as the facts.
        if self.facts_version <= self.latest[<int>effect_constants] or self.facts_version <= self.latest[<int>effect_any]:
            search_begin(&self.facts)
            self.facts_version = self.version + 1
        elif self.searched_version != self.version:
            search_again(&self.facts)
        self.searched_version = self.version
        return not shader_has(&self.facts, self.shader, one.only_with)

    cdef bint rounds(self, uint32_t first, uint32_t end) except -1 nogil:
        cdef int k
        for k in range(maximum_rounds):
            if not self.steps(first, end):
                return k > 0
        return True


cdef void *_data_of(ir) noexcept:
    if type(ir) is Shader:
        return &(<Shader>ir).data
    return &(<Program>ir).data if type(ir) is Program else NULL


cdef _Runner _runner(Plan plan, ir, PassLog log, observe):
    cdef _Runner runner = _Runner()
    runner.ir = ir
    runner.plan = plan
    runner.plan_number = len(log.plans)
    log.plans.append(plan)
    runner.log = log
    runner.observe = observe
    runner.observed = observe is not None
    runner.data = _data_of(ir) if observe is None else NULL
    runner.shader = &(<Shader>ir).data if type(ir) is Shader else NULL
    runner.compilation = NULL
    runner.idle.resize(plan.slots)
    return runner


# What a compilation runs that is no step.
cdef list _OF_COMPILATION = [("spirv", "read"), ("aco", "instruction_selection")]


def run_steps(Plan plan not None, ir, PassLog log not None, observe=None):
    """Run the steps of a plan; False promises that nothing has changed.

    Parameters
    ----------
    plan : Plan
    ir : Shader or Program
    log : PassLog
        Takes down what ran.
    observe : callable, optional
        Called with room, name, IR and seconds after each step.
    """
    cdef _Runner runner = _runner(plan, ir, log, observe)
    cdef bint changed
    log.start()
    with nogil:
        changed = runner.steps(0, <uint32_t>plan.rows.size())
    return changed


def run_through(Reading reading, Shader shader not None, Target target not None, Plan first not None, NativeKernel translate not None,
                Plan second not None, Program program not None, PassLog log not None):
    """Make a shader, run the steps of a plan over it, make a program of it and run the steps of a plan over that, all without the interpreter.

    The shader has no tables afterwards; what is known of it is known of the program from the beginning. There are no users' steps in the plans.

    Parameters
    ----------
    reading : Reading or None
        Makes the shader, where that is to be done.
    shader : Shader
    target : Target
    first : Plan
        Of the shader.
    translate : NativeKernel
        Makes the program; takes a `Translation`.
    second : Plan
        Of the program.
    program : Program
    log : PassLog
        Takes down what ran.
    """
    cdef _Runner before = _runner(first, shader, log, None)
    cdef _Runner behind = _runner(second, program, log, None)
    cdef uint32_t name = len(log.names)
    cdef Compilation compilation
    cdef Translation translation
    cdef bytes reflected                  # outlives the look at it
    compilation_begin(&compilation, shader)
    if reading is None:
        reflected = reflected_bindings(shader.facts)
        compilation.reflected, compilation.reflected_bytes = reflected, len(reflected)
    translation.source = &shader.data
    translation.result = &program.data
    program.facts = shader.facts
    before.reading, before.compilation = reading, &compilation
    log.names += _OF_COMPILATION
    log.start()
    try:
        with nogil:
            if reading is not None:
                reading.read(&compilation)
                log.add(no_plan, name)
            target.apply(&shader.data, &program.data, compilation.has_matrices)
            before.steps(0, <uint32_t>first.rows.size())
            translate.function(&translation, translate.option)
            log.add(no_plan, name + 1)
            behind.steps(0, <uint32_t>second.rows.size())
            shader_free(&shader.data)
        before.report()
    finally:
        compilation_report(&compilation, shader.facts)    # an error leaves users behind
