/* Packs weights, and divides products among threads: see linear.h. */
#include <math.h>
#include "isa.h"
#include "thread_team.h"
#include "nn/bf16.h"
#include "nn/float_kernels.h"
#include "nn/linear_groups.h"

static void pack_column_bf16(tk_linear *l, const float *w, size_t column) {
    uint16_t *panel = (uint16_t *)l->weights + column / TK_PANEL * ((l->k + 1) / 2) * 2 * TK_PANEL;
    for (size_t i = 0; i < l->k; i++) panel[(i / 2 * TK_PANEL + column % TK_PANEL) * 2 + i % 2] = tk_bf16_of(w[i]);
}

static void pack_column_int8(tk_linear *l, const float *w, size_t column) {
    int8_t *panel = (int8_t *)l->weights + column / TK_PANEL * ((l->k + 3) / 4) * 4 * TK_PANEL;
    float most = 0;
    for (size_t i = 0; i < l->k; i++) most = fmaxf(most, fabsf(w[i]));
    l->scale[column] = most / 127;
    for (size_t i = 0; i < l->k; i++) {
        int q = most > 0 ? (int)nearbyintf(w[i] / l->scale[column]) : 0;
        panel[(i / 4 * TK_PANEL + column % TK_PANEL) * 4 + i % 4] = (int8_t)q;
        l->totals[column] += q;
    }
}

/* Bytes of the weights alone; (size_t)-1 where they are too many: n and k may come from a file. */
static size_t weight_bytes(const tk_linear *l) {
    enum { BESIDE = 64 }; /* for the three numbers of a column beside its weights */
    const size_t most = (size_t)PTRDIFF_MAX / 2 / BESIDE;
    if (l->n > most || l->k > most) return (size_t)-1; /* so that nothing below wraps */
    static const size_t sizes[] = {sizeof(float), sizeof(uint16_t), 1};
    size_t deep, each, columns = l->panels * TK_PANEL;
    if (l->kind >= TK_INT4) deep = tk_groups(l->k), each = tk_group_bytes(l) / TK_PANEL;
    else {
        deep = l->kind == TK_INT8 ? (l->k + 3) / 4 * 4 : l->kind == TK_BF16 ? (l->k + 1) / 2 * 2 : l->k;
        each = sizes[l->kind];
    }
    if (columns && deep + BESIDE > (size_t)PTRDIFF_MAX / each / columns) return (size_t)-1;
    return columns * deep * each;
}

size_t tk_linear_bytes(size_t n, size_t k, int kind, int minima) {
    TK_ASSERT(kind >= TK_F32 && kind <= TK_INT8_GROUPS && (!minima || kind >= TK_INT4));
    tk_linear l = {.n = n, .k = k, .panels = n / TK_PANEL + (n % TK_PANEL != 0), .kind = kind, .minima = minima};
    size_t bytes = weight_bytes(&l);
    if (bytes == (size_t)-1) return 0;
    return bytes + l.panels * TK_PANEL * (kind == TK_INT8 ? 12 : 4) + 64; /* not 0 */
}

void tk_linear_over(tk_linear *l, void *image, size_t n, size_t k, int kind, int minima) {
    *l = (tk_linear){.n = n, .k = k, .panels = n / TK_PANEL + (n % TK_PANEL != 0), .kind = kind, .minima = minima};
    TK_ASSERT(image && (uintptr_t)image % 64 == 0 && tk_linear_bytes(n, k, kind, minima));
    l->weights = image;
    l->bias = (float *)((uint8_t *)image + weight_bytes(l));
    l->scale = l->bias + l->panels * TK_PANEL;
    l->totals = (int32_t *)(l->scale + l->panels * TK_PANEL);
}

_Static_assert(sizeof(tk_x_group) == 80 && offsetof(tk_x_group, q) + 32 == 48, "tk_x_bytes, and the kernels of groups");

void tk_linear_pack(tk_linear *l, const float *w, size_t step, const float *bias) {
    TK_ASSERT(!l->n || !l->k || (w && (step >= l->k || l->n == 1)));
    TK_ASSERT(!l->minima && (l->kind != TK_INT8 || l->k <= TK_INT8_MOST_K));
    for (size_t column = 0; column < l->n; column++, w += step) {
        if (bias) l->bias[column] = bias[column];
        size_t at = column / TK_PANEL * l->k * TK_PANEL + column % TK_PANEL;
        if (l->kind == TK_INT8) pack_column_int8(l, w, column);
        if (l->kind == TK_BF16) pack_column_bf16(l, w, column);
        if (l->kind >= TK_INT4) tk_linear_pack_groups(l, w, column);
        for (size_t i = 0; i < l->k && l->kind == TK_F32; i++) ((float *)l->weights)[at + i * TK_PANEL] = w[i];
    }
}

/* A block of rows whose x stays in the second cache while all panels pass by. */
enum { BLOCK_BYTES = 400 << 10, ROWS_STEP = 24 };

typedef struct {
    const tk_product *p;
    const tk_gemm_kernels *by;
    size_t rows, panels, row_parts, panel_parts, next;
} tk_linear_job;

static void work(void *job, int worker) {
    tk_linear_job *w = job;
    (void)worker;
    for (size_t i; (i = tk_team_next(&w->next)) < w->row_parts * w->panel_parts;) {
        size_t from = i / w->panel_parts * w->rows, first = i % w->panel_parts * w->panels;
        size_t to = from + w->rows < w->p->m ? from + w->rows : w->p->m;
        size_t last = first + w->panels < w->p->l->panels ? first + w->panels : w->p->l->panels;
        TK_ASSERT(from < to && to - from <= (w->p->l->kind >= TK_INT4 ? TK_BLOCK_MOST : w->rows));
        if (first < last) w->by->part(w->p, from, to, first, last);
    }
}

/* Whether weights come faster if a program asks for them ahead: not by AVX-512 on AMD's cores (gemm_loops.h). */
static int worth_fetching(const tk_float_kernels *by) {
#if TK_X86
    __builtin_cpu_init();
    return !(by->gemm_bf16 && __builtin_cpu_is("amd"));
#else
    (void)by;
    return 1;
#endif
}

int tk_linear_run(tk_product *p, int isa, int threads) {
    const tk_linear *l = p->l;
    const tk_float_kernels *by = tk_float_kernels_of(isa);
    TK_ASSERT(threads > 0 && (!p->m || !l->n || (p->y && (p->x || !l->k) && l->weights && l->bias)));
    TK_ASSERT(l->panels == l->n / TK_PANEL + (l->n % TK_PANEL != 0));
    tk_linear_job job = {.p = p, .by = by->gemm};
    void *quantised = NULL;
    const int rounded = by->gemm_bf16 && l->kind == TK_BF16 &&
                        (p->wide < 0 ? tk_has_bf16() : !p->wide && tk_fast_bf16());
    if (rounded) job.by = by->gemm_bf16;
    p->fetch = worth_fetching(by);
    if (!p->m || !l->n) return TK_OK;
    if (l->kind >= TK_INT4) {
        p->x8_step = tk_x_bytes(l);
        quantised = tk_alloc(p->m * tk_groups(l->k), p->x8_step);
        if (!quantised) return TK_NO_MEMORY;
        p->x8 = quantised;
        for (size_t i = 0; i < p->m; i++)
            job.by->quantise_groups(p->x + (ptrdiff_t)i * p->x_step, l, (uint8_t *)p->x8 + i * p->x8_step,
                                    p->m * p->x8_step);
    } else if (l->kind == TK_INT8 || rounded) {
        p->x8_step = (rounded ? (l->k + 1) / 2 * 4 : (l->k + 3) / 4 * 8) + 128; /* writers of whole vectors run over */
        quantised = tk_alloc(p->m, p->x8_step + 8);
        if (!quantised) return TK_NO_MEMORY;
        p->x_scale = quantised;
        p->x_zero = (int32_t *)quantised + p->m;
        p->x8 = (uint8_t *)quantised + 8 * p->m;
        for (size_t i = 0; i < p->m; i++)
            job.by->quantise(p->x + (ptrdiff_t)i * p->x_step, l->k, (uint8_t *)p->x8 + i * p->x8_step, p->x8_step,
                             (float *)p->x_scale + i, (int32_t *)p->x_zero + i);
    }
    size_t rows = BLOCK_BYTES / sizeof(float) / (l->k + 1) / ROWS_STEP * ROWS_STEP;
    if (l->kind >= TK_INT4) rows = TK_BLOCK_MOST;
    rows = rows < ROWS_STEP ? ROWS_STEP : rows > TK_BLOCK_MOST ? TK_BLOCK_MOST : rows;
    job.row_parts = (p->m + rows - 1) / rows;
    job.rows = (p->m + job.row_parts - 1) / job.row_parts;
    job.panel_parts = 1;
    if (threads > 1 && job.row_parts < 2 * (size_t)threads) job.panel_parts = 4 * (size_t)threads;
    if (job.panel_parts > l->panels) job.panel_parts = l->panels;
    job.panels = (l->panels + job.panel_parts - 1) / job.panel_parts;
    /* A thread costs some 20 µs, which is 2 million products of one core. */
    size_t worth = 1 + (size_t)((double)p->m * (double)l->n * (double)l->k / 2e6);
    if ((size_t)threads > worth) threads = (int)worth;
    if ((size_t)threads > job.row_parts * job.panel_parts) threads = (int)(job.row_parts * job.panel_parts);
    tk_team_run(work, &job, threads);
    free(quantised);
    return TK_OK;
}
