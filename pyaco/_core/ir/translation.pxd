"""How the runner (``pass_runner.pyx``) calls the kernel that makes one IR of another."""

# What such a kernel takes in place of an IR.
cdef struct Translation:
    void *source
    void *result
