/* Handing sequences, heads and queries to threads: see attend.h. */
#include "nn/float_kernels.h"
#include "thread_team.h"

/* So many queries are a part of the work at most: few enough for threads to share, many enough that keys stay warm. */
enum { PART = 512, WIDEST = 32 };
/* Fewer queries are never rounded to bf16: keys would be packed for little, and a few tokens that are tried out, such
   as drafts, give what they give one at a time. */
enum { NARROW_FROM = 64 };

static int rounds(const tk_attention *a, const tk_float_kernels *by) {
    return by->flash_bf16 && !a->lists && !a->blocks && !a->q_starts && a->n_queries >= NARROW_FROM &&
           (a->narrow < 0 ? tk_has_bf16() : a->narrow && tk_fast_bf16());
}

void tk_attention_head(const tk_attention *a, size_t sequence, size_t head, tk_head *view) {
    TK_ASSERT(sequence < a->batch && head < a->heads);
    ptrdiff_t s = (ptrdiff_t)sequence, n = (ptrdiff_t)head, kv = (ptrdiff_t)(head / a->group), b = s, q0 = 0, k0 = 0;
    view->n_queries = a->n_queries;
    view->n_keys = a->n_keys;
    if (a->q_starts) {
        b = 0, q0 = (ptrdiff_t)a->q_starts[s], k0 = (ptrdiff_t)a->k_starts[s];
        view->n_queries = (size_t)(a->q_starts[s + 1] - q0);
        view->n_keys = (size_t)(a->k_starts[s + 1] - k0);
    }
    TK_ASSERT(!a->q_starts || (a->q_starts[s + 1] >= q0 && a->k_starts[s + 1] >= k0));
    view->q = a->q + b * a->q_by.batch + n * a->q_by.head + q0 * a->q_by.row;
    view->out = a->out + b * a->out_by.batch + n * a->out_by.head + q0 * a->out_by.row;
    const ptrdiff_t size = (ptrdiff_t)tk_kv_size(a->kv);
    view->k = (const char *)a->k + (b * a->k_by.batch + kv * a->k_by.head + k0 * a->k_by.row) * size;
    view->v = (const char *)a->v + (b * a->v_by.batch + kv * a->v_by.head + k0 * a->v_by.row) * size;
    view->k_scales = a->k_scales ? a->k_scales + kv * a->scales_by : NULL;
    view->v_scales = a->v_scales ? a->v_scales + kv * a->scales_by : NULL;
    view->allow = a->allow ? a->allow + b * a->allow_by.batch + n * a->allow_by.head : NULL;
    view->add = a->add ? a->add + b * a->add_by.batch + n * a->add_by.head : NULL;
    view->blocks = a->blocks ? a->blocks + b * a->blocks_by.batch + n * a->blocks_by.head : NULL;
    view->list = a->lists ? a->lists->starts + n * a->lists->starts_by : NULL;
    view->by_distance = a->by_distance ? a->by_distance + n * a->distance_by : NULL;
    view->ignored = a->ignored ? a->ignored + b * a->ignored_by : NULL;
    if (!view->ignored) return;
    size_t ignored = 0;
    while (view->n_keys && view->ignored[view->n_keys - 1]) view->n_keys--;
    for (size_t j = 0; j < view->n_keys && !ignored; j++) ignored = view->ignored[j];
    if (!ignored) view->ignored = NULL; /* nothing but an end that is left out */
}

/* Room that one thread works in: floats. */
static size_t room_of(const tk_attention *a, int rounded) {
    size_t tiles = (a->d + a->dv + 2 * TK_KEY_BLOCK) * WIDEST + TK_KEY_BLOCK * (a->kv ? a->d + a->dv : 0);
    if (rounded) tiles += (a->n_keys / TK_KEY_BLOCK + 1) * TK_KEY_BLOCK * ((a->d + 1) / 2 + (a->dv + 1) / 2);
    size_t wide = a->d + TK_PAIR, wide_v = a->dv + TK_PAIR;
    size_t few = TK_DECODE_ROWS * (TK_DECODE_BLOCK + 2 * wide + wide_v);
    few += TK_DECODE_BLOCK * (wide > wide_v ? wide : wide_v);
    return (tiles > few ? tiles : few) + TK_PAIR;
}

typedef struct {
    const tk_attention *a;
    const tk_float_kernels *by;
    tk_attend *flash;
    size_t kv_heads, parts, next;
    float *room;
    size_t room_each;
} tk_attention_job;

static void work(void *job, int worker) {
    tk_attention_job *w = job;
    const tk_attention *a = w->a;
    float *room = w->room + w->room_each * (size_t)worker;
    room += (64 - (uintptr_t)room % 64) % 64 / sizeof(float);
    size_t all = a->batch * w->kv_heads * w->parts;
    for (size_t i; (i = tk_team_next(&w->next)) < all;) {
        /* The last queries first: under a causal mask theirs is most of the work. */
        size_t part = w->parts - 1 - i % w->parts, kv = i / w->parts % w->kv_heads;
        size_t sequence = i / w->parts / w->kv_heads;
        size_t n = a->q_starts ? (size_t)(a->q_starts[sequence + 1] - a->q_starts[sequence]) : a->n_queries;
        size_t from = part * PART, to = from + PART < n ? from + PART : n;
        TK_ASSERT(n <= a->n_queries && kv < w->kv_heads && sequence < a->batch);
        TK_ASSERT((uintptr_t)room % 64 == 0);
        if (from >= n) continue;
        int few = n <= 4 && n * a->group <= TK_DECODE_ROWS && !a->lists;
        (few ? w->by->decode : w->flash)(a, sequence, kv, from, to, room);
    }
}

/* Whether the parts of an attention go together: see attend.h. */
static inline int is_sound(const tk_attention *a) {
    if ((a->d && !a->q) || (a->dv && !a->out) || a->heads % a->group) return 0;
    if (a->n_keys && ((a->d && !a->k) || (a->dv && !a->v))) return 0;
    if (a->kv != TK_KV_FLOAT32 && (a->kv > TK_KV_INT8 || a->kv < 0 || a->batch > 1 || a->q_starts)) return 0;
    if ((a->kv == TK_KV_INT8) != (a->k_scales && a->v_scales) || !a->q_starts != !a->k_starts) return 0;
    if (a->blocks && (!a->block || a->block % TK_KEY_BLOCK)) return 0;
    return a->left <= TK_FAR && a->right <= TK_FAR && a->cap >= 0;
}

int tk_attention_run(const tk_attention *a, int isa, int threads) {
    TK_ASSERT(threads > 0 && a->group && (!a->batch || !a->heads || !a->n_queries || is_sound(a)));
    tk_attention_job job = {.a = a, .by = tk_float_kernels_of(isa), .kv_heads = a->heads / a->group};
    const int rounded = rounds(a, job.by);
    job.flash = rounded ? job.by->flash_bf16 : job.by->flash;
    job.parts = (a->n_queries + PART - 1) / PART; /* of the longest sequence */
    size_t all = a->batch * job.kv_heads * job.parts;
    if (!all) return TK_OK;
    if ((size_t)threads > all) threads = (int)all;
    /* A thread costs some 20 µs, which is 2 million products of one core; in packed batches rows count once. */
    double rows = (double)(a->q_starts ? (size_t)a->q_starts[a->batch] : a->batch * a->n_queries);
    double worth = 1 + rows * (double)a->heads * (double)a->n_keys * (double)(a->d + a->dv) / 2e6;
    if (threads > worth) threads = (int)worth;
    if (threads > TK_TEAM_MOST) threads = TK_TEAM_MOST;
    job.room_each = room_of(a, rounded);
    job.room = tk_alloc((size_t)threads, job.room_each * sizeof(float));
    if (!job.room) return TK_NO_MEMORY;
    tk_team_run(work, &job, threads);
    free(job.room);
    return TK_OK;
}
