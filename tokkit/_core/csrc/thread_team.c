/* Starts threads when a job needs more, and lets them wait for the next job: see thread_team.h. */
#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#define _POSIX_C_SOURCE 200809L /* sigset_t under -std=c11 */
#include <pthread.h>
#include <signal.h>
#include <time.h>
#endif
#include "thread_team.h"

#if defined(_WIN32)
typedef struct {
    void (*run)(void *, int);
    void *job;
    int number;
    HANDLE thread;
} tk_worker;

static DWORD WINAPI start(void *worker) {
    tk_worker *w = worker;
    w->run(w->job, w->number);
    return 0;
}

static void run_own(void (*run)(void *job, int worker), void *job, int threads) {
    tk_worker workers[TK_TEAM_MOST];
    int started = 1;
    for (; started < threads; started++) {
        workers[started] = (tk_worker){.run = run, .job = job, .number = started};
        workers[started].thread = CreateThread(NULL, 0, start, &workers[started], 0, NULL);
        if (!workers[started].thread) break;
    }
    run(job, 0);
    for (int i = 1; i < started; i++) {
        WaitForSingleObject(workers[i].thread, INFINITE);
        CloseHandle(workers[i].thread);
    }
}
#else
enum { IDLE, BUSY, LEAVING };

/* How long a thread looks for what it waits for before it sleeps: between two kernels of a step of training pass
   5 to 20 µs, and a thread that sleeps wakes up after as much. */
enum { LOOK_NS = 40000, PAUSES = 16 /* from one look at the clock to the next */ };

typedef struct tk_worker {
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows; `state` is looked at without it, too */
    pthread_cond_t begun, ended;
    int state;
    void (*run)(void *, int);
    void *job;
    int number;
    struct tk_worker *next; /* of those that are idle */
} tk_worker;

static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static tk_worker *idle;

static void pause_a_moment(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Waits until the state is not `state` any more: awake for a while, then asleep; the one who changes it signals. */
static void wait_while(tk_worker *w, int state, pthread_cond_t *changed) {
    struct timespec now, first;
    clock_gettime(CLOCK_MONOTONIC, &first);
    do {
        for (int i = 0; i < PAUSES; i++, pause_a_moment())
            if (__atomic_load_n(&w->state, __ATOMIC_ACQUIRE) != state) return;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - first.tv_sec) * 1000000000LL + (now.tv_nsec - first.tv_nsec) < LOOK_NS);
    pthread_mutex_lock(&w->lock);
    while (w->state == state) pthread_cond_wait(changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

static void change(tk_worker *w, int state, pthread_cond_t *changed) {
    pthread_mutex_lock(&w->lock);
    __atomic_store_n(&w->state, state, __ATOMIC_RELEASE);
    pthread_cond_signal(changed);
    pthread_mutex_unlock(&w->lock);
}

static void *work(void *worker) {
    tk_worker *w = worker;
    for (;;) {
        wait_while(w, IDLE, &w->begun);
        if (__atomic_load_n(&w->state, __ATOMIC_ACQUIRE) == LEAVING) return NULL;
        w->run(w->job, w->number);
        change(w, IDLE, &w->ended);
    }
}

/* Before fork(), which copies one thread alone: those that are idle leave. The lock is held until fork() is through. */
static void before_fork(void) {
    pthread_mutex_lock(&idle_lock);
    for (tk_worker *w; (w = idle);) {
        idle = w->next;
        change(w, LEAVING, &w->begun);
        pthread_join(w->thread, NULL);
        pthread_mutex_destroy(&w->lock);
        pthread_cond_destroy(&w->begun);
        pthread_cond_destroy(&w->ended);
        free(w);
    }
}
static void after_fork(void) { pthread_mutex_unlock(&idle_lock); }
static void prepare(void) { pthread_atfork(before_fork, after_fork, after_fork); }

static tk_worker *new_worker(void) {
    tk_worker *w = tk_calloc(1, sizeof(tk_worker));
    if (!w) return NULL;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->begun, NULL);
    pthread_cond_init(&w->ended, NULL);
    /* Signals are the business of the threads that Python knows. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&w->thread, NULL, work, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed) return w;
    free(w);
    return NULL;
}

static tk_worker *take_worker(void) {
    pthread_mutex_lock(&idle_lock);
    tk_worker *w = idle;
    if (w) idle = w->next;
    pthread_mutex_unlock(&idle_lock);
    return w ? w : new_worker();
}

static void give_back(tk_worker *w) {
    pthread_mutex_lock(&idle_lock);
    w->next = idle;
    idle = w;
    pthread_mutex_unlock(&idle_lock);
}

static void run_own(void (*run)(void *job, int worker), void *job, int threads) {
    tk_worker *workers[TK_TEAM_MOST];
    int started = 1;
    TK_ASSERT(threads <= TK_TEAM_MOST);
    if (threads > 1) pthread_once(&once, prepare);
    for (; started < threads; started++) {
        tk_worker *w = workers[started] = take_worker();
        if (!w) break;
        TK_ASSERT(__atomic_load_n(&w->state, __ATOMIC_ACQUIRE) == IDLE);
        w->run = run, w->job = job, w->number = started;
        change(w, BUSY, &w->begun);
    }
    run(job, 0);
    /* The last one first, so that each gets the number that it had. */
    for (int i = started - 1; i > 0; i--) {
        wait_while(workers[i], BUSY, &workers[i]->ended);
        give_back(workers[i]);
    }
}
#endif

void tk_team_run(void (*run)(void *job, int worker), void *job, int threads) {
    TK_ASSERT(run && threads > 0);
    run_own(run, job, threads < TK_TEAM_MOST ? threads : TK_TEAM_MOST);
}
