/* Normalization forms C, D, KC and KD of pieces (Unicode Standard Annex 15).

   Text that passes the quick check is kept. Text that may change is a span between two starters that do not change and
   do not compose with text before them: it is decomposed, put in canonical order and, for C and
   KC, composed again. Each character carries the change that tk_rewrite_put takes: 0 for one that stands for a
   character of the text, 1 for one more of a decomposition; two that compose stand for all that they stood for. */
#define TK_NORMALIZATION_TABLES_HERE
#include "text/normalize.h"

typedef struct {
    uint32_t c;
    int32_t change;
    uint32_t combining;
} unit;

typedef struct {
    unit *units, *spare;
    size_t n, capacity, spare_capacity;
    int status;
} stretch;

enum { COMPOSED = TK_QUICK_NFC | TK_QUICK_NFKC, COMPATIBLE = TK_QUICK_NFKC | TK_QUICK_NFKD };

/* The next span, text[*start:*stop], that the form may change; 0 where there is none before `end`. */
static int next_stretch(int form, const uint8_t *text, size_t end, size_t *start, size_t *stop) {
    size_t starter = *start, at = *start;
    TK_ASSERT(*start <= end && form && !(form & ~(TK_QUICK_NFC | TK_QUICK_NFD | TK_QUICK_NFKC | TK_QUICK_NFKD)));
    unsigned length, last = 0;
    while (at < end) {
        if (text[at] < 0x80) {
            at = tk_ascii_end(text, at, end);
            starter = at - 1;
            last = 0;
            continue;
        }
        uint32_t c = tk_utf8_decode(text + at, &length);
        if (TK_LIKELY(!(tk_quick(c) & (unsigned)form))) {
            starter = at;
            at += length;
            last = 0;
            continue;
        }
        const tk_record *record = tk_record_of(c);
        at += length;
        if (!(record->unsettled & form) && record->combining >= last) { /* a mark, in its order */
            last = record->combining;
            continue;
        }
        for (; at < end && text[at] >= 0x80; at += length)
            if (!(tk_quick(tk_utf8_decode(text + at, &length)) & (unsigned)form)) break;
        *start = starter;
        *stop = at;
        TK_ASSERT(starter < at && at <= end);
        return 1;
    }
    return 0;
}

static void push(stretch *s, uint32_t c, int change) {
    if (TK_UNLIKELY(s->n == s->capacity)) {
        if (s->status == TK_OK) s->status = tk_reserve(&s->units, &s->capacity, s->n + 1, sizeof(unit));
        if (s->status != TK_OK) return;
    }
    s->units[s->n++] = (unit){c, change, c < 0x80 ? 0 : tk_record_of(c)->combining};
}

static void decompose(stretch *s, int form, const uint8_t *text, size_t start, size_t stop) {
    unsigned length;
    s->n = 0;
    for (size_t at = start; at < stop; at += length) {
        uint32_t c = tk_utf8_decode(text + at, &length);
        if (tk_is_hangul(c)) {
            uint32_t k = c - TK_HANGUL;
            push(s, TK_JAMO_L + k / (TK_JAMO_VS * TK_JAMO_TS), 0);
            push(s, TK_JAMO_V + k / TK_JAMO_TS % TK_JAMO_VS, 1);
            if (k % TK_JAMO_TS) push(s, TK_JAMO_T + k % TK_JAMO_TS, 1);
            continue;
        }
        const tk_record *record = tk_record_of(c);
        const uint32_t *parts = tk_pool + (form & COMPATIBLE ? record->compatible : record->canonical);
        if (parts == tk_pool) push(s, c, 0);
        for (uint32_t k = 1; k <= parts[0]; k++) push(s, parts[k], k > 1);
    }
}

/* units[0:n], all of them combining, by class; those of one class stay in their order. */
static void sort_marks(stretch *s, unit *units, size_t n) {
    enum { FEW = 24 };
    if (n <= FEW) {
        for (size_t i = 1; i < n; i++) {
            unit one = units[i];
            size_t k = i;
            for (; k && units[k - 1].combining > one.combining; k--) units[k] = units[k - 1];
            units[k] = one;
        }
        return;
    }
    size_t places[257] = {0};
    if (s->status == TK_OK) s->status = tk_reserve(&s->spare, &s->spare_capacity, n, sizeof(unit));
    if (s->status != TK_OK) return;
    for (size_t i = 0; i < n; i++) places[units[i].combining + 1]++;
    for (unsigned k = 0; k < 256; k++) places[k + 1] += places[k];
    TK_ASSERT(places[256] == n && !places[0]); /* all of them combine */
    for (size_t i = 0; i < n; i++) s->spare[places[units[i].combining]++] = units[i];
    memcpy(units, s->spare, n * sizeof(unit));
}

static void order(stretch *s) {
    for (size_t i = 0; i < s->n;) {
        size_t end = i;
        while (end < s->n && s->units[end].combining) end++;
        if (end - i > 1) sort_marks(s, s->units + i, end - i);
        i = end + 1;
    }
}

_Static_assert(sizeof tk_pairs / sizeof *tk_pairs == 3u << TK_PAIR_BITS, "three numbers a slot");

/* What the two compose to, or 0. */
static uint32_t pair(uint32_t first, uint32_t second) {
    const uint32_t mask = (1u << TK_PAIR_BITS) - 1;
    if (first - TK_JAMO_L < TK_JAMO_LS && second - TK_JAMO_V < TK_JAMO_VS)
        return TK_HANGUL + ((first - TK_JAMO_L) * TK_JAMO_VS + second - TK_JAMO_V) * TK_JAMO_TS;
    if (tk_is_hangul(first) && (first - TK_HANGUL) % TK_JAMO_TS == 0 && second - TK_JAMO_T - 1 < TK_JAMO_TS - 1)
        return first + second - TK_JAMO_T;
    uint32_t slot = (first * 0x9E3779B1u ^ second * 0x85EBCA6Bu) >> (32 - TK_PAIR_BITS);
    for (; tk_pairs[3 * slot]; slot = (slot + 1) & mask)
        if (tk_pairs[3 * slot] == first && tk_pairs[3 * slot + 1] == second) return tk_pairs[3 * slot + 2];
    return 0;
}

static void compose(stretch *s) {
    TK_ASSERT(s->n <= s->capacity);
    size_t kept = 0, starter = SIZE_MAX;
    for (size_t i = 0; i < s->n; i++) {
        unit one = s->units[i];
        if (starter != SIZE_MAX) {
            int blocked = kept - 1 > starter && s->units[kept - 1].combining >= one.combining;
            uint32_t c = blocked ? 0 : pair(s->units[starter].c, one.c);
            if (c) {
                s->units[starter].c = c;
                s->units[starter].change += one.change - 1;
                continue;
            }
        }
        if (!one.combining) starter = kept;
        s->units[kept++] = one;
    }
    s->n = kept;
}

/* Make the units of a span; 0 where they are the text itself. */
static int resolve(stretch *s, int form, const uint8_t *text, size_t start, size_t stop) {
    decompose(s, form, text, start, stop);
    tk_work += s->n;
    order(s);
    if (form & COMPOSED) compose(s);
    unsigned length;
    for (size_t i = 0; i < s->n; i++, start += length)
        if (start >= stop || s->units[i].change || tk_utf8_decode(text + start, &length) != s->units[i].c) return 1;
    return start < stop;
}

/* The next span that does change, its units made. */
static int next_change(stretch *s, int form, const uint8_t *text, size_t end, size_t *start, size_t *stop) {
    for (; next_stretch(form, text, end, start, stop); *start = *stop)
        if (resolve(s, form, text, *start, *stop)) return 1;
    return 0;
}

int tk_normalize_form_stays(int form, const uint8_t *text, size_t n) {
    TK_ASSERT(text || !n);
    size_t start = 0, stop = 0;
    return !next_stretch(form, text, n, &start, &stop);
}

int tk_normalize_form(tk_aligned *a, int form) {
    stretch s = {0};
    size_t first = 0, start = 0, stop = 0;
    tk_rewrite w;
    for (; first < a->n_pieces; first++) {
        start = a->pieces[first].start;
        if (a->pieces[first].id == TK_NO_TOKEN && next_change(&s, form, a->text, a->pieces[first].end, &start, &stop))
            break;
    }
    if (first == a->n_pieces || s.status != TK_OK) goto done;
    s.status = tk_rewrite_begin(&w, a);
    for (size_t number = tk_rewrite_next(&w, 0); number < a->n_pieces; number = tk_rewrite_next(&w, number + 1)) {
        if (number >= first) {
            if (number > first) start = w.at;
            /* what the look before found is made again, which is simpler than to keep it */
            while (next_change(&s, form, a->text, w.end, &start, &stop) && s.status == TK_OK) {
                TK_ASSERT(start >= w.at && stop <= w.end);
                tk_rewrite_keep(&w, start - w.at);
                for (size_t i = 0; i < s.n; i++) tk_rewrite_put(&w, s.units[i].c, s.units[i].change);
                start = stop;
            }
        }
        tk_rewrite_keep(&w, w.end - w.at);
    }
    if (s.status != TK_OK) w.status = s.status;
    s.status = tk_rewrite_end(&w, a);
done:
    free(s.units);
    free(s.spare);
    return s.status;
}
