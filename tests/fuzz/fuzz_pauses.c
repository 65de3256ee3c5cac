/* Tokens and a text in, nothing out if the rank of each place is what it is without the other tokens, fences are those
   of the text read in two halves, and what is trimmed is white space. */
#include "fuzz.h"
#include "text/pauses.h"

static uint8_t rank_alone(fz_text text, int64_t place, int at, tk_fence fence, int continues) {
    int64_t spans[4] = {0, place, place, (int64_t)text.n};
    uint8_t ranks[2] = {0, 0};
    tk_rank_pauses(text.p, text.n, spans, 2, at, &fence, continues, ranks);
    return ranks[1];
}

static tk_fence fence_after(const uint8_t *p, size_t n, tk_fence fence, int continues) {
    fz_text text = fz_copy(p, n);
    tk_rank_pauses(text.p, n, NULL, 0, TK_AT_MARKDOWN, &fence, continues, NULL);
    free(text.p);
    return fence;
}

static void check_trim(fz_text text, size_t start, size_t end, int indented) {
    size_t from = start, to = end;
    tk_trim(text.p, &from, &to, indented);
    CHECK(from <= to && to <= end && (from >= start || indented));
    CHECK(from == start || !tk_is_continuation(text.p[start]) || indented);
    size_t again_from = from, again_to = to;
    tk_trim(text.p, &again_from, &again_to, indented);
    CHECK(again_from == from && again_to == to);
    if (from == to) return;
    CHECK(text.p[to - 1] != ' ' && text.p[to - 1] != '\n');
    CHECK(indented || (text.p[from] != ' ' && text.p[from] != '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz f = {data, data + size};
    int at = (int)fz_below(&f, TK_AT_KINDS), continues = fz_byte(&f) & 1;
    tk_fence fence = {fz_byte(&f) & 1 ? '`' : '~', 0}, after = fence;
    if (fz_byte(&f) & 1) after.length = fence.length = 3 + fz_below(&f, 3);
    unsigned step = fz_below(&f, 9) + 1, middle = fz_short(&f);
    fz_text text = fz_valid(&f, FZ_MOST);
    size_t n_tokens = 0;
    int64_t *spans = malloc((text.n + 1) * 2 * sizeof *spans);
    for (size_t i = 0; i < text.n; i += step, n_tokens++) {
        size_t end = i + step < text.n ? i + step : text.n;
        spans[2 * n_tokens] = (int64_t)i, spans[2 * n_tokens + 1] = (int64_t)end;
    }
    uint8_t *ranks = malloc(n_tokens + 1);
    tk_rank_pauses(text.p, text.n, spans, n_tokens, at, &after, continues, ranks);
    for (size_t i = 1; i < n_tokens; i++) {
        int inside = tk_is_continuation(text.p[spans[2 * i]]);
        CHECK((ranks[i] == TK_NO_PAUSE) == inside);
        CHECK(ranks[i] == rank_alone(text, spans[2 * i], at, fence, continues));
    }
    if (at == TK_AT_MARKDOWN && text.n) {
        size_t half = middle % text.n;
        while (half && text.p[half - 1] != '\n') half--;
        tk_fence first = fence_after(text.p, half, fence, continues);
        tk_fence second = fence_after(text.p + half, text.n - half, first, continues && !half);
        CHECK(second.length == after.length && (!after.length || second.character == after.character));
    }
    for (size_t start = 0; start < text.n; start += 7) {
        size_t from = start, to = start + middle % (text.n - start + 1);
        while (from && tk_is_continuation(text.p[from])) from--;
        while (to < text.n && tk_is_continuation(text.p[to])) to++;
        check_trim(text, from, to, start & 1);
    }
    free(ranks);
    free(spans);
    free(text.p);
    return 0;
}
