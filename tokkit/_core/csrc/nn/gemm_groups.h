/* The part of gemm_loops.h, which includes this, for weights in groups of 32 inputs (linear.h).

   A group's products are whole numbers, and become a float once, times the scales of the group and of x. All panels
   are read once, from front to back, for a block of rows; their sums wait in the first cache meanwhile. */
#ifndef TK_GEMM_GROUPS_H
#define TK_GEMM_GROUPS_H

/* Rows of a tile, and vectors of columns for one or two rows, and for more; how far ahead weights are fetched. */
enum { GROUP_ROWS = 4, GROUP_VECS_FEW = VL == 16 ? 2 : 4, GROUP_VECS = 2, GROUPS_AHEAD = VL == 16 ? 12 : 4 };
enum { GROUP_X = offsetof(tk_x_group, q) };

/* Steps of a group are written out where each is a few instructions; in plain C they would be a megabyte. */
#if VL_ROWS > 4
#define WRITTEN_OUT(N) _Pragma(#N)
#else
#define WRITTEN_OUT(N)
#endif

/* sums[r] += what one group of 32 inputs gives, for `rows` rows of x that are x_step bytes apart. */
TK_INLINE void one_group(const int rows, const int vecs, const int kind, const int minima, const uint8_t *group,
                         const uint8_t *x, size_t x_step, float *sums) {
    const int steps = kind == TK_INT4 ? 4 : 8, parts = kind == TK_INT4 ? 2 : INT8_PARTS;
    const uint8_t *w = group + (minima ? 4 : 2) * TK_PANEL;
    WRITTEN_OUT(GCC unroll 4)
    for (int first = 0; first < TK_PANEL / VL; first += vecs) {
        vi acc[GROUP_ROWS][4];
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            int32_t start;
            memcpy(&start, x + (size_t)r * x_step + offsetof(tk_x_group, start), sizeof start);
#pragma GCC unroll 4
            for (int v = 0; v < vecs; v++) acc[r][v] = vi_set1(start);
        }
        WRITTEN_OUT(GCC unroll 8)
        for (int s = 0; s < steps; s++)
            WRITTEN_OUT(GCC unroll 2)
            for (int part = 0; part < parts; part++) {
                vi some[4];
#pragma GCC unroll 4
                for (int v = 0; v < vecs; v++) {
                    some[v] = q_part(vi_load_bytes(w + (s * TK_PANEL + (first + v) * VL) * 4), kind, part);
                    PIN(some[v]);
                }
#pragma GCC unroll 4
                for (int r = 0; r < rows; r++) {
                    int32_t four;
                    memcpy(&four, x + (size_t)r * x_step + GROUP_X + (part * steps + s) * 4, sizeof four);
                    const vi by = vi_set1(four);
#pragma GCC unroll 4
                    for (int v = 0; v < vecs; v++) acc[r][v] = q_dot(acc[r][v], some[v], by, kind);
                }
            }
#pragma GCC unroll 4
        for (int v = 0; v < vecs; v++) {
            const uint8_t *scale = group + (first + v) * VL * 2;
            const vf scales = v_load_halves(scale);
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) {
                float own, offset, *to = sums + r * MOST_COLUMNS + (first + v) * VL;
                memcpy(&own, x + (size_t)r * x_step, sizeof own);
                vf total = v_fma(q_end(acc[r][v], kind), v_mul(scales, v_set1(own)), v_load(to));
                if (minima) {
                    memcpy(&offset, x + (size_t)r * x_step + offsetof(tk_x_group, offset), sizeof offset);
                    total = v_fma(v_load_halves(scale + 2 * TK_PANEL), v_set1(offset), total);
                }
                v_store(to, total);
            }
        }
    }
}

/* Rows of a block by one panel: `many` tiles of `rows` rows, then tiles of one row less. */
TK_INLINE void panel_of_groups(const int rows, const int kind, const int minima, const tk_product *p, size_t from,
                               size_t to, size_t panel, size_t many, float *sums) {
    const int vecs = rows <= 2 ? GROUP_VECS_FEW : GROUP_VECS;
    const size_t groups = tk_groups(p->l->k), bytes = tk_group_bytes(p->l), step = p->x8_step, m = to - from;
    const uint8_t *group = (const uint8_t *)p->l->weights + panel * groups * bytes, *x = p->x8 + from * step;
    for (size_t g = 0; g < groups; g++, group += bytes, x += p->m * step) {
        size_t r = 0;
        for (size_t line = 0; FETCH_FEW && p->fetch && line < bytes; line += TK_LINE)
            TK_PREFETCH_TO(group + GROUPS_AHEAD / (kind == TK_INT4 ? 1 : 2) * bytes + line, 3);
        for (size_t i = 0; i < many; i++, r += (size_t)rows)
            one_group(rows, vecs, kind, minima, group, x + r * step, step, sums + r * MOST_COLUMNS);
        for (; rows > 1 && r < m; r += (size_t)rows - 1)
            one_group(rows > 1 ? rows - 1 : 1, vecs, kind, minima, group, x + r * step, step, sums + r * MOST_COLUMNS);
    }
}

typedef void groups_panel(const tk_product *p, size_t from, size_t to, size_t panel, size_t many, float *sums);
#define GROUPS_OF(R, NAME, KIND, MINIMA)                                                                           \
    static void NAME##_##R(const tk_product *p, size_t from, size_t to, size_t panel, size_t many, float *sums) {  \
        panel_of_groups(R, KIND, MINIMA, p, from, to, panel, many, sums);                                          \
    }
#define GROUPS(NAME, KIND, MINIMA)                                                                                 \
    GROUPS_OF(1, NAME, KIND, MINIMA)                                                                               \
    GROUPS_OF(2, NAME, KIND, MINIMA)                                                                               \
    GROUPS_OF(3, NAME, KIND, MINIMA)                                                                               \
    GROUPS_OF(4, NAME, KIND, MINIMA)
GROUPS(int4_groups, TK_INT4, 0)
GROUPS(int4_minima, TK_INT4, 1)
GROUPS(int8_groups, TK_INT8_GROUPS, 0)
GROUPS(int8_minima, TK_INT8_GROUPS, 1)
static groups_panel *const by_groups[2][2][GROUP_ROWS] = {
    {{int4_groups_1, int4_groups_2, int4_groups_3, int4_groups_4},
     {int4_minima_1, int4_minima_2, int4_minima_3, int4_minima_4}},
    {{int8_groups_1, int8_groups_2, int8_groups_3, int8_groups_4},
     {int8_minima_1, int8_minima_2, int8_minima_3, int8_minima_4}},
};

static void groups_part(const tk_product *p, size_t from, size_t to, size_t first, size_t last) {
    float sums[TK_BLOCK_MOST * MOST_COLUMNS];
    size_t m = to - from, tiles = (m + GROUP_ROWS - 1) / GROUP_ROWS, rows = (m + tiles - 1) / tiles;
    size_t many = tiles - (tiles * rows - m); /* tiles of one row less end at m */
    groups_panel *run = by_groups[p->l->kind == TK_INT8_GROUPS][p->l->minima][rows - 1];
    for (size_t panel = first; panel < last; panel++) {
        for (size_t r = 0; r < m; r++) memset(sums + r * MOST_COLUMNS, 0, TK_PANEL * sizeof *sums);
        run(p, from, to, panel, many, sums);
        finish(p, from, m, panel * TK_PANEL, TK_PANEL, sums);
    }
}

static void quantise_groups(const float *x, const tk_linear *l, uint8_t *out, size_t step) {
    for (size_t i = 0; i < l->k; i += TK_GROUP, out += step) {
        tk_x_group made = {0};
        uint8_t bytes[TK_GROUP];
        vf v[TK_GROUP / VL], most = v_set1(0), bad = v_set1(0);
#pragma GCC unroll 8
        for (size_t j = 0; j < TK_GROUP; j += VL) {
            size_t left = l->k - i > j ? l->k - i - j : 0;
            vf some = left >= VL ? v_load(x + i + j) : v_load_n(x + i + j, left);
            most = v_max(v_max(some, v_sub(v_set1(0), some)), most), bad = v_fma(some, v_set1(0), bad);
            v[j / VL] = some;
        }
        made.scale = v_top(most) / 127;
        if (v_sum(bad) != 0 || !(made.scale <= FLT_MAX)) made.scale = NAN; /* not a number comes out of this row */
        else if (made.scale >= FLT_MIN) {
            const vf inverse = v_set1(1 / made.scale), shift = v_set1(128);
            int32_t sum = 0;
#pragma GCC unroll 8
            for (size_t j = 0; j < TK_GROUP; j += VL)
                v_store_bytes(bytes + j, v_add(v_round(v_mul(v[j / VL], inverse)), shift));
            for (int j = 0; j < TK_GROUP; j++) bytes[j] ^= 0x80, sum += (int8_t)bytes[j];
            made.offset = -made.scale * (float)sum;
            q_arrange((const int8_t *)bytes, sum, l->kind, l->minima, &made);
        }
        memcpy(out, &made, tk_x_bytes(l));
    }
}
#endif
