/* Counts the steps of loops, and lets the tests read the count: see base.h. */
#include "base.h"

_Thread_local uint64_t tk_work;

#ifdef _WIN32
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
uint64_t tk_work_done(void);

uint64_t tk_work_done(void) { return tk_work; }
