/* The C door: finds or starts a Python interpreter and calls pyaco.emu.run_asm. See pyaco/include/pyaco_run_asm.h.
 *
 * Nothing of Python is linked, so that one library serves processes that are interpreters and those that are not: its
 * functions are looked up when they are first needed. Only the stable ABI is used. */
#define _GNU_SOURCE
#include "pyaco_run_asm.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct object object;

/* Functions of Python's stable ABI that are used: result, name, parameters. */
#define PYTHON_FUNCTIONS(X)                                                                                            \
    X(int, Py_IsInitialized, (void))                                                                                   \
    X(void, Py_InitializeEx, (int))                                                                                    \
    X(void *, PyEval_SaveThread, (void))                                                                               \
    X(int, PyGILState_Ensure, (void))                                                                                  \
    X(void, PyGILState_Release, (int))                                                                                 \
    X(object *, PyImport_ImportModule, (const char *))                                                                 \
    X(object *, PyObject_GetAttrString, (object *, const char *))                                                      \
    X(object *, PyObject_CallObject, (object *, object *))                                                             \
    X(object *, Py_BuildValue, (const char *, ...))                                                                    \
    X(long, PyLong_AsLong, (object *))                                                                                 \
    X(object *, PyUnicode_AsUTF8String, (object *))                                                                    \
    X(char *, PyBytes_AsString, (object *))                                                                            \
    X(void, PyErr_Clear, (void))                                                                                       \
    X(void, Py_DecRef, (object *))

#define DECLARE(result, name, parameters) result(*name) parameters;
static struct {
    PYTHON_FUNCTIONS(DECLARE)
} python;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *chosen_library;
static int ready;
static _Thread_local char message[4096];

static int complain(int code, const char *text, const char *detail)
{
    snprintf(message, sizeof message, detail ? "%s: %s" : "%s", text, detail);
    return code;
}

static int look_up(void *library)
{
#define LOOK_UP(result, name, parameters)                                                                              \
    *(void **)&python.name = dlsym(library, #name);                                                                    \
    if (!python.name)                                                                                                  \
        return complain(RUN_ASM_NO_PYTHON, "not in Python's library", #name);
    PYTHON_FUNCTIONS(LOOK_UP)
    return 0;
}

/* Cut the last part of a path off; 0 if there is none. */
static int to_parent(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash)
        return 0;
    *slash = 0;
    return 1;
}

/* The path of this library without symbolic links, in a buffer of PATH_MAX bytes; 0 if the loader does not know it. */
static int own_path(char *path)
{
    Dl_info here;
    return dladdr((void *)own_path, &here) && here.dli_fname && realpath(here.dli_fname, path);
}

/* Let a fresh interpreter find the package that this library was installed with: the folder that holds pyaco/lib. */
static void find_package(void)
{
    char folder[PATH_MAX];
    object *sys, *path, *append, *argument;
    if (!own_path(folder) || !to_parent(folder) || !to_parent(folder) || !to_parent(folder))
        return;
    sys = python.PyImport_ImportModule("sys");
    path = sys ? python.PyObject_GetAttrString(sys, "path") : NULL;
    append = path ? python.PyObject_GetAttrString(path, "append") : NULL;
    argument = python.Py_BuildValue("(s)", folder);
    if (append && argument)
        python.PyObject_CallObject(append, argument);
    python.PyErr_Clear();
}

/* Open Python's library in a folder. */
static void *open_in(const char *folder)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/" PYACO_LIBPYTHON_NAME, folder) >= (int)sizeof path)
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

/* Open the library of the Python that a virtual environment was made from: its pyvenv.cfg names the folder of the program. */
static void *open_beside_home(const char *environment)
{
    char path[PATH_MAX], line[PATH_MAX], home[PATH_MAX];
    void *library = NULL;
    FILE *settings;
    if (snprintf(path, sizeof path, "%s/pyvenv.cfg", environment) >= (int)sizeof path || !(settings = fopen(path, "r")))
        return NULL;
    while (!library && fgets(line, sizeof line, settings))
        if (sscanf(line, "home = %4000[^\r\n]", home) == 1 && to_parent(home)) {
            strcat(home, "/lib");
            library = open_in(home);
        }
    fclose(settings);
    return library;
}

/* Open the library of the Python that pyaco is installed for. A package lies in PREFIX/lib/pythonX.Y/site-packages, of a virtual
 * environment or of the installation itself, whose library then lies in PREFIX/lib; the loader knows that of the system. */
static void *open_python(void)
{
    char folder[PATH_MAX];
    void *library = *PYACO_LIBPYTHON_FOLDER ? open_in(PYACO_LIBPYTHON_FOLDER) : NULL;
    if (!library && own_path(folder))
        while (!library && to_parent(folder) && *folder) {
            library = open_in(folder);
            if (!library)
                library = open_beside_home(folder);
        }
    return library ? library : dlopen(PYACO_LIBPYTHON_NAME, RTLD_NOW | RTLD_GLOBAL);
}

/* The process's interpreter, or a fresh one whose lock is free afterwards. */
static int start(void)
{
    if (ready)
        return 0;
    if (dlsym(RTLD_DEFAULT, "Py_IsInitialized")) {
        if (look_up(RTLD_DEFAULT))
            return RUN_ASM_NO_PYTHON;
    } else {
        const char *name = chosen_library ? chosen_library : getenv("PYACO_LIBPYTHON");
        void *library = name ? dlopen(name, RTLD_NOW | RTLD_GLOBAL) : open_python();
        if (!library)
            return complain(RUN_ASM_NO_PYTHON, "Python's library", dlerror());
        if (look_up(library))
            return RUN_ASM_NO_PYTHON;
    }
    if (!python.Py_IsInitialized()) {
        python.Py_InitializeEx(0);
        find_package();
        python.PyEval_SaveThread();
    }
    ready = 1;
    return 0;
}

/* Keep the text of str(object) for run_asm_error. */
static void keep_text(object *value)
{
    object *text = python.PyUnicode_AsUTF8String(value);
    const char *bytes = text ? python.PyBytes_AsString(text) : NULL;
    complain(0, bytes ? bytes : "an error without text", NULL);
    if (text)
        python.Py_DecRef(text);
    python.PyErr_Clear();
}

/* Call pyaco.emu.raw_dispatch.run_asm_status, which never raises: (code, text). */
static int call(object *arguments)
{
    object *module = python.PyImport_ImportModule("pyaco.emu.raw_dispatch");
    object *function = module ? python.PyObject_GetAttrString(module, "run_asm_status") : NULL;
    object *result = function && arguments ? python.PyObject_CallObject(function, arguments) : NULL;
    int code = complain(RUN_ASM_NO_PYTHON, "the interpreter does not find pyaco", NULL);
    if (result) {
        object *status = python.PyObject_GetAttrString(result, "code");
        object *text = python.PyObject_GetAttrString(result, "text");
        code = status ? (int)python.PyLong_AsLong(status) : RUN_ASM_FAILED;
        if (text)
            keep_text(text);
        if (status)
            python.Py_DecRef(status);
        if (text)
            python.Py_DecRef(text);
        python.Py_DecRef(result);
    }
    python.PyErr_Clear();
    if (function)
        python.Py_DecRef(function);
    if (module)
        python.Py_DecRef(module);
    return code;
}

int run_asm(const void *lib, uint32_t lib_size, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t lx, uint32_t ly, uint32_t lz,
            const void *args, uint32_t rsrc2, uint32_t scratch_size, const char *arch, const uint32_t *user_data,
            uint32_t user_count)
{
    int code, state;
    object *arguments;
    pthread_mutex_lock(&lock);
    code = start();
    pthread_mutex_unlock(&lock);
    if (code)
        return code;
    state = python.PyGILState_Ensure();
    arguments = python.Py_BuildValue("(KIIIIIIIKIIsKI)", (unsigned long long)(uintptr_t)lib, lib_size, gx, gy, gz, lx, ly, lz,
                                     (unsigned long long)(uintptr_t)args, rsrc2, scratch_size, arch ? arch : "rdna3",
                                     (unsigned long long)(uintptr_t)user_data, user_count);
    code = call(arguments);
    if (arguments)
        python.Py_DecRef(arguments);
    python.PyGILState_Release(state);
    return code;
}

const char *run_asm_error(void) { return message; }

int run_asm_python(const char *library)
{
    int code = 0;
    pthread_mutex_lock(&lock);
    if (ready) {
        code = complain(RUN_ASM_BAD_INPUT, "an interpreter runs already", NULL);
    } else {
        free(chosen_library);
        chosen_library = library ? strdup(library) : NULL;
    }
    pthread_mutex_unlock(&lock);
    return code;
}
