/* Starting and ending the threads of one call: see thread_team.h. */
#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
typedef HANDLE tk_thread;
#else
#define _POSIX_C_SOURCE 200809L /* sigset_t under -std=c11 */
#include <pthread.h>
#include <signal.h>
typedef pthread_t tk_thread;
#endif
#include "thread_team.h"

typedef struct {
    void (*run)(void *, int);
    void *job;
    int number;
    tk_thread thread;
} tk_worker;

#if defined(_WIN32)
static DWORD WINAPI start(void *worker) {
    tk_worker *w = worker;
    w->run(w->job, w->number);
    return 0;
}
static int begin(tk_worker *w) { return (w->thread = CreateThread(NULL, 0, start, w, 0, NULL)) != NULL; }
static void end(tk_worker *w) {
    WaitForSingleObject(w->thread, INFINITE);
    CloseHandle(w->thread);
}
#else
static void *start(void *worker) {
    tk_worker *w = worker;
    w->run(w->job, w->number);
    return NULL;
}
static int begin(tk_worker *w) {
    /* Signals are the business of the threads that Python knows. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&w->thread, NULL, start, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed;
}
static void end(tk_worker *w) { pthread_join(w->thread, NULL); }
#endif

void tk_team_run(void (*run)(void *job, int worker), void *job, int threads) {
    tk_worker workers[TK_TEAM_MOST];
    int started = 1;
    if (threads > TK_TEAM_MOST) threads = TK_TEAM_MOST;
    for (; started < threads; started++) {
        workers[started] = (tk_worker){.run = run, .job = job, .number = started};
        if (!begin(&workers[started])) break;
    }
    run(job, 0);
    for (int i = 1; i < started; i++) end(&workers[i]);
}
