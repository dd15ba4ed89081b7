/* What Python calls when it loads a module of vector steps. The module itself is compiled for processors with such vectors from its first
   instruction on; this file is for every processor of the architecture, so that others get an ImportError. CMakeLists.txt names the functions. */
#include <Python.h>

#include "host_vectors.h"

PyObject *PYACO_STEPS_INIT(void);

PyMODINIT_FUNC PYACO_MODULE_INIT(void) {
    if (host_vector_bits() < PYACO_VECTOR_BITS) {
        PyErr_Format(PyExc_ImportError, "steps for vectors of %d bits, on a processor without such vectors", PYACO_VECTOR_BITS);
        return NULL;
    }
    return PYACO_STEPS_INIT();
}
