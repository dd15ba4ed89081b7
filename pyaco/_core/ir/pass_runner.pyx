"""The loop of the pass manager (``pyaco.passes``): it runs prepared passes over one IR.

Between two kernels stand a call, a look at the clock and a row in an array. A step that changed nothing is not run again before another step has
changed something, in whatever group it stands next: kernels are functions of the IR and of their options, and promise by False that
nothing has changed. So the last round of a group that repeats only runs what the last change may have given work. Passes of users may change the
IR without saying so: they always run, and count as a change. While somebody observes the IR after each pass, every step runs, so that there is
something to see.
"""
from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

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
    """
    cdef readonly tuple record
    cdef readonly object function
    cdef readonly object options
    cdef readonly int slot
    cdef readonly tuple members

    def __init__(self, tuple record, function, options, int slot, tuple members=()):
        self.record = record
        self.function = function
        self.options = options
        self.slot = slot
        self.members = members


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

    cdef int64_t add(self, tuple record) except -1:
        cdef int64_t now = steady_nanoseconds()
        cdef int64_t taken = now - self.mark
        self.mark = now
        self.names.append(record)
        self.nanoseconds.push_back(taken)
        return taken

    def note(self, str room, str name):
        """Note what ended now, and return the seconds that it took."""
        return self.add((room, name)) * 1e-9

    def rows(self):
        """Room, name and milliseconds of each pass that ran, in order."""
        cdef size_t k
        return [(*self.names[k], self.nanoseconds[k] * 1e-6) for k in range(self.nanoseconds.size())]


cdef class _Runner:
    cdef object ir
    cdef PassLog log
    cdef object observe
    cdef uint32_t version             # of the IR: counts changes
    cdef vector[uint32_t] unchanged   # by slot: the version that the step was seen to leave as it is, plus one; 0 none

    cdef bint steps(self, tuple steps) except -1:
        cdef PreparedStep step
        cdef bint changed
        cdef bint progress = False
        cdef int64_t taken
        for step in steps:
            if step.function is None:
                progress |= self.rounds(step.members)
                continue
            if step.slot >= 0:
                if <size_t>step.slot >= self.unchanged.size():
                    self.unchanged.resize(step.slot + 1, 0)
                if self.observe is None and self.unchanged[step.slot] == self.version + 1:
                    continue
            if step.options is None:
                changed = step.function(self.ir)
                self.version += 1
            else:
                changed = step.function(self.ir, step.options)
                self.version += changed
            if step.slot >= 0 and not changed:
                self.unchanged[step.slot] = self.version + 1
            progress |= changed
            taken = self.log.add(step.record)
            if self.observe is not None:
                self.observe(step.record[0], step.record[1], self.ir, taken * 1e-9)
                self.log.start()
        return progress

    cdef bint rounds(self, tuple members) except -1:
        cdef int k
        for k in range(maximum_rounds):
            if not self.steps(members):
                return k > 0
        return True


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
    log.start()
    return runner.steps(steps)
