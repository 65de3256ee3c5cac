/* Divides sequences and heads among threads: see grad_attend.h. */
#include "nn/grad_kernels.h"
#include "thread_team.h"

typedef struct {
    const tk_grad_attention *a;
    tk_do_grad_attend *run;
    size_t next;
    float *room;
    size_t room_each;
} tk_grad_attention_job;

static void work(void *job, int worker) {
    tk_grad_attention_job *j = job;
    float *room = j->room + (size_t)worker * j->room_each;
    room += (64 - (uintptr_t)room % 64) % 64 / sizeof(float);
    size_t kv_heads = j->a->heads / j->a->group, all = j->a->batch * kv_heads;
    for (size_t i; (i = tk_team_next(&j->next)) < all;) j->run(j->a, i / kv_heads, i % kv_heads, room);
}

int tk_grad_attention_run(const tk_grad_attention *a, int isa, int threads) {
    const tk_grad_kernels *by = tk_grad_kernels_of(isa);
    tk_grad_attention_job job = {.a = a, .run = a->dout ? by->attend_backward : by->attend};
    TK_ASSERT(threads > 0 && a->group && a->heads % a->group == 0 && a->before <= a->n && a->after <= a->n);
    TK_ASSERT(!a->dout || (a->dq && a->dk && a->dv && a->out && a->lse && (!a->d_by_distance || a->by_distance)));
    TK_ASSERT(!a->by_distance || (a->zero < a->distances && a->zero + 1 >= a->n));
    size_t all = a->batch * (a->heads / a->group);
    if (!all || !a->n || !a->d) return TK_OK;
    if ((size_t)threads > all) threads = (int)all;
    double worth = 1 + (double)a->batch * (double)a->heads * (double)a->n * (double)a->n * (double)a->d / 2e6;
    if (threads > worth) threads = (int)worth;
    if (threads > TK_TEAM_MOST) threads = TK_TEAM_MOST;
    size_t n = (a->n + TK_GRAD_BLOCK - 1) / TK_GRAD_BLOCK * TK_GRAD_BLOCK;
    size_t d = (a->d + TK_GRAD_WIDEST - 1) / TK_GRAD_WIDEST * TK_GRAD_WIDEST;
    /* Keys, values and their gradients; five blocks of queries; scores, of all keys or of two blocks. */
    size_t scores = n > 2 * TK_GRAD_BLOCK ? n : 2 * TK_GRAD_BLOCK;
    job.room_each = 4 * n * d + TK_GRAD_BLOCK * (5 * d + scores) + 32;
    job.room = tk_alloc((size_t)threads, job.room_each * sizeof(float));
    if (!job.room) return TK_NO_MEMORY;
    tk_team_run(work, &job, threads);
    free(job.room);
    return TK_OK;
}
