/* A team of threads that run one job together. They stay for the next job; idle ones end before a fork(). */
#ifndef TK_TEAM_H
#define TK_TEAM_H
#include "base.h"
#if !defined(__GNUC__)
#include <intrin.h>
#endif

enum { TK_TEAM_MOST = 256 };

/* Calls run(job, 0 … threads - 1) at once, 0 in this thread. Where the system gives fewer threads, those who came do
   the work: `run` takes its parts by tk_team_next. */
void tk_team_run(void (*run)(void *job, int worker), void *job, int threads);

/* The next of the numbers 0, 1, 2, …, each given to one caller. */
static inline size_t tk_team_next(size_t *counter) {
#if defined(__GNUC__)
    return __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
#else
    return (size_t)_InterlockedIncrement64((volatile long long *)counter) - 1;
#endif
}
#endif
