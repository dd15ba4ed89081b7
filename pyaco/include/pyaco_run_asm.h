/* Run AMD machine code on the CPU: the C door of pyaco's emulator.
 *
 * This is the one door without a sandbox: code, arguments and whatever the program reaches are host addresses, used as
 * they are. What lies below 64 KiB or beyond 2^47 ends the run; nothing else is checked: a stray access of the program is
 * a stray access of the process.
 *
 * The library starts a Python interpreter on the first call if the process has none (see run_asm_python). Calls may come
 * from any thread; they run one after the other.
 */
#ifndef PYACO_RUN_ASM_H
#define PYACO_RUN_ASM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RUN_ASM_FAILED 1      /* the program stopped before its end; run_asm_error says where */
#define RUN_ASM_UNSUPPORTED 2 /* it reached an instruction that the emulator does not have, or arch is unknown */
#define RUN_ASM_BAD_INPUT 3   /* arguments that no hardware takes */
#define RUN_ASM_NO_PYTHON 4   /* no interpreter, or one without pyaco */

/* Run the machine code at `lib` until all waves have ended; returns 0, or one of the codes above.
 *
 * lib, lib_size   where the code lies, and how many bytes may be read from there
 * gx, gy, gz      workgroups
 * lx, ly, lz      work-items of a workgroup
 * args            the kernel's arguments: s[0:1], unless user_data says otherwise
 * rsrc2           COMPUTE_PGM_RSRC2: bits 1-5 the number of user SGPRs, 7-9 which workgroup ids follow, 15-23 LDS in
 *                 512 bytes; RUN_ASM_RSRC2 is what the callers of this interface pass where they do not care
 * scratch_size    bytes of scratch of a work-item
 * arch            "rdna2", "rdna3", "rdna4", "cdna", or a gfx name; NULL: rdna3
 * user_data       what s[0..user_count) hold, or NULL
 */
#define RUN_ASM_RSRC2 0x19cu
int run_asm(const void *lib, uint32_t lib_size, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t lx, uint32_t ly, uint32_t lz,
            const void *args, uint32_t rsrc2, uint32_t scratch_size, const char *arch, const uint32_t *user_data,
            uint32_t user_count);

/* What went wrong in the last call of this thread that did not return 0; valid until its next call. */
const char *run_asm_error(void);

/* Which shared library of Python to start, a path or a name that the dynamic linker finds; call it before run_asm. Without
 * it: PYACO_LIBPYTHON of the environment, else the library of the Python that pyaco is installed for. A process that is already a Python
 * interpreter uses itself. Returns 0, or RUN_ASM_BAD_INPUT once an interpreter runs. */
int run_asm_python(const char *library);

#ifdef __cplusplus
}
#endif

#endif
