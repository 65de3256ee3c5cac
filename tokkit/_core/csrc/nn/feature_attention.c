/* Divides the sequences and heads of linear attention among threads: see feature_attention.h. */
#include "nn/float_kernels.h"
#include "thread_team.h"

enum { WIDEST = 32 }; /* two of the widest vectors */

static size_t up(size_t n) { return (n + WIDEST - 1) / WIDEST * WIDEST; }

size_t tk_feature_room(const tk_feature_attention *a) {
    size_t f = up(a->f), e = up(a->e), n = TK_FEATURE_CHUNK;
    return 3 * n * f + n * n + n * e + f * e + f + WIDEST;
}

typedef struct {
    const tk_feature_attention *a;
    tk_attend_features *run;
    size_t kv_heads, next, room_each;
    float *room;
} tk_feature_job;

static void work(void *job, int worker) {
    tk_feature_job *w = job;
    float *room = w->room + w->room_each * (size_t)worker;
    room += (64 - (uintptr_t)room % 64) % 64 / sizeof(float);
    for (size_t i; (i = tk_team_next(&w->next)) < w->a->batch * w->kv_heads;)
        w->run(w->a, i / w->kv_heads, i % w->kv_heads, room);
}

int tk_feature_attention_run(const tk_feature_attention *a, int isa, int threads) {
    tk_feature_job job = {.a = a, .run = tk_float_kernels_of(isa)->features, .kv_heads = a->heads / a->group};
    TK_ASSERT(threads > 0 && a->group && a->heads % a->group == 0 && a->f && a->e && a->state);
    TK_ASSERT(a->does && !(a->does & ~(TK_ABSORB | TK_ANSWER)) && a->feature >= 0 && a->feature < TK_FEATURES);
    TK_ASSERT(a->does != (TK_ABSORB | TK_ANSWER) || a->n_queries == a->n_keys);
    size_t all = a->batch * job.kv_heads;
    if (!all) return TK_OK;
    if ((size_t)threads > all) threads = (int)all;
    /* A thread costs some 20 µs, which is 2 million products of one core. */
    double rows = (double)a->n_queries * (double)a->heads + (double)a->n_keys * (double)job.kv_heads;
    double worth = 1 + rows * (double)a->batch * (double)a->f * (double)(a->e + TK_FEATURE_CHUNK) / 2e6;
    if (threads > worth) threads = (int)worth;
    if (threads > TK_TEAM_MOST) threads = TK_TEAM_MOST;
    job.room_each = tk_feature_room(a);
    job.room = tk_alloc((size_t)threads, job.room_each * sizeof(float));
    if (!job.room) return TK_NO_MEMORY;
    tk_team_run(work, &job, threads);
    free(job.room);
    return TK_OK;
}
