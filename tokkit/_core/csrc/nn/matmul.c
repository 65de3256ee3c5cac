/* Divides matrix products among threads, in blocks of rows and columns: see matmul.h. */
#include "nn/grad_kernels.h"
#include "nn/linear.h"
#include "thread_team.h"

typedef struct {
    const tk_matmul *w;
    const tk_matmul_kernels *by;
    size_t rows, columns, row_parts, parts, next; /* of a part; how many there are */
    float *room;
    size_t room_each;
} tk_matmul_job;

static void work(void *job, int worker) {
    tk_matmul_job *j = job;
    const tk_matmul *w = j->w;
    float *room = j->room + (size_t)worker * j->room_each;
    room += (64 - (uintptr_t)room % 64) % 64 / sizeof(float); /* vectors that cross lines would cost a tenth */
    for (size_t i; (i = tk_team_next(&j->next)) < j->parts;) {
        size_t from = i % j->row_parts * j->rows, first = i / j->row_parts * j->columns;
        size_t to = from + j->rows < w->m ? from + j->rows : w->m;
        size_t last = first + j->columns < w->n ? first + j->columns : w->n;
        if (from < to && first < last) j->by->run(w, from, to, first, last, room);
    }
}

/* A part of so many rows or columns is a multiple of the tiles of every instruction set. */
enum { ROWS_STEP = 24, COLUMNS_STEP = 32 };
enum { PRODUCTS = 1000000 }; /* are worth another thread: 10 to 20 µs of one core */
static size_t share(size_t n, size_t parts, size_t step) { return ((n + parts - 1) / parts + step - 1) / step * step; }

static const tk_matmul_kernels *kernels_of(const tk_matmul *w, int isa) {
    const tk_matmul_kernels *dots = isa == TK_ISA_AVX512 && w->bf16 ? tk_matmul_dots() : NULL;
    const int wanted = w->bf16 == TK_MATMUL_BF16_DOTS || (w->bf16 == TK_MATMUL_BF16 && tk_fast_bf16());
    return dots && wanted ? dots : &tk_grad_kernels_of(isa)->matmul;
}

int tk_matmul_run(const tk_matmul *w, tk_room *room, int isa, int threads) {
    tk_matmul_job job = {.w = w, .by = kernels_of(w, isa), .rows = w->m, .columns = w->n};
    if (!w->m || !w->n) return TK_OK;
    TK_ASSERT(threads > 0 && w->c && (!w->k || (w->a && w->b)) && w->bf16 >= 0 && w->bf16 <= TK_MATMUL_BF16_DOTS);
    TK_ASSERT((w->m <= 1 || w->k <= 1 || w->a_row == 1 || w->a_column == 1) &&
              (w->k <= 1 || w->n <= 1 || w->b_row == 1 || w->b_column == 1));
    double worth = 1 + (double)w->m * (double)w->n * (double)(w->k + 1) / PRODUCTS;
    if (threads > worth) threads = (int)worth;
    if (threads > TK_TEAM_MOST) threads = TK_TEAM_MOST;
    /* The longer side is shared out: what is packed of the other is packed by each. */
    if (threads > 1 && w->m >= w->n) job.rows = share(w->m, (size_t)threads, ROWS_STEP);
    else if (threads > 1) job.columns = share(w->n, (size_t)threads, COLUMNS_STEP);
    job.row_parts = (w->m + job.rows - 1) / job.rows;
    job.parts = job.row_parts * ((w->n + job.columns - 1) / job.columns);
    if ((size_t)threads > job.parts) threads = (int)job.parts;
    job.room_each = job.by->room(job.rows, job.columns, w->k) + 16;
    if (job.room_each > (size_t)PTRDIFF_MAX / sizeof(float) / (size_t)threads) return TK_NO_MEMORY;
    const size_t bytes = (size_t)threads * job.room_each * sizeof(float);
    if (bytes > room->capacity) { /* what is in it need not be copied */
        free(room->floats);
        room->floats = tk_alloc(bytes, 1);
        room->capacity = room->floats ? bytes : 0;
        if (!room->floats) return TK_NO_MEMORY;
    }
    job.room = room->floats;
    tk_team_run(work, &job, threads);
    return TK_OK;
}
