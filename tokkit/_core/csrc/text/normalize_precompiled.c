/* Replaces each span of the pieces that is in a charsmap.

   A grapheme cluster of less than six bytes is looked up as a whole; otherwise, or where nothing is found, each of its
   characters is. The replacement of the shortest prefix replaces all that was looked up. Or, as in sentencepiece, the
   longest prefix that has a string is replaced at each position. Changes are counted as
   tokenizers counts them, also where its count goes wrong: characters that become nothing at the start of a piece
   are not counted, and all after them is aligned with what stands that much before it. */
#include "text/charsmap.h"
#include "text/graphemes.h"

enum { LONGEST_WHOLE = 5 }; /* bytes of a cluster that is looked up as a whole */

typedef struct {
    const tk_charsmap *map;
    const uint8_t *text;
    size_t at, cluster_end, end; /* at < cluster_end: among characters that are looked up one by one */
    size_t start, stop, place;   /* what was found: text[start:stop], and where its string stands */
    int longest;                 /* of prefixes, and clusters do not matter */
} lookup;

/* After the ASCII that stays as it is, from `at` on; the last one may be one with what follows. */
TK_INLINE size_t plain_end(const lookup *l) {
    enum { BLOCK = 16 };
    const uint8_t *text = l->text;
    size_t at = l->at;
    while (l->map->all_plain && at + BLOCK < l->end) {
        uint8_t other = 0;
        for (unsigned k = 0; k < BLOCK; k++) other |= (uint8_t)(text[at + k] - 0x20) > 0x7E - 0x20;
        if (other) break;
        at += text[at + BLOCK] < 0x80 ? BLOCK : BLOCK - 1;
        if (text[at] >= 0x80 || at + 1 >= l->end || text[at + 1] >= 0x80) break;
    }
    while (at < l->end && text[at] < 0x80 && l->map->plain[text[at]] && (at + 1 == l->end || text[at + 1] < 0x80)) at++;
    return at;
}

TK_INLINE size_t find(const tk_charsmap *map, const uint8_t *p, size_t n) {
    return tk_charsmap_passes(map, p) ? SIZE_MAX : tk_charsmap_find(map, p, n);
}

static int find_next_longest(lookup *l) {
    for (size_t length; l->at < l->end; l->at += tk_utf8_length(l->text[l->at])) {
        if (tk_charsmap_passes(l->map, l->text + l->at)) continue;
        l->place = tk_charsmap_find_longest(l->map, l->text + l->at, l->end - l->at, &length);
        if (l->place == SIZE_MAX) continue;
        l->start = l->at;
        l->at = l->stop = l->at + length;
        TK_ASSERT(l->at <= l->end);
        return 1;
    }
    return 0;
}

static int find_next(lookup *l) {
    if (l->longest) return find_next_longest(l);
    while (l->at < l->end) {
        if (l->at >= l->cluster_end) {
            l->at = plain_end(l);
            if (l->at >= l->end) return 0;
            l->start = l->at;
            l->cluster_end = l->stop = tk_cluster_end(l->text, l->at, l->end);
            if (l->stop - l->start <= LONGEST_WHOLE) {
                l->place = find(l->map, l->text + l->start, l->stop - l->start);
                if (l->place != SIZE_MAX) return l->at = l->stop, 1;
                if (l->stop - l->start == tk_utf8_length(l->text[l->start])) {
                    l->at = l->stop;
                    continue;
                }
            }
        }
        l->start = l->at;
        l->at = l->stop = l->at + tk_utf8_length(l->text[l->at]);
        l->place = find(l->map, l->text + l->start, l->stop - l->start);
        if (l->place != SIZE_MAX) return 1;
    }
    return 0;
}

/* What is written: the last character waits, for its change may still be counted down. */
typedef struct {
    tk_rewrite w;
    size_t read; /* of the piece; the cursor may be before that */
    uint32_t c;
    int change, waits;
} writer;

static void flush(writer *out) {
    if (out->waits) tk_rewrite_put(&out->w, out->c, out->change);
    out->waits = 0;
}

static void put(writer *out, uint32_t c, int change) {
    flush(out);
    out->c = c;
    out->change = change;
    out->waits = 1;
}

static void keep_until(writer *out, size_t stop) {
    TK_ASSERT(out->read <= stop && stop <= out->w.end);
    const uint8_t *text = out->w.from->text;
    unsigned length;
    if (stop == out->read) return;
    flush(out);
    if (out->w.at == out->read) {
        size_t last = stop - 1;
        while (tk_is_continuation(text[last])) last--;
        tk_rewrite_keep(&out->w, last - out->read);
        out->read = last;
    }
    for (; out->read < stop; out->read += length) put(out, tk_utf8_decode(text + out->read, &length), 0);
}

static int count_characters(const uint8_t *text, size_t n) {
    int count = 0;
    for (size_t i = 0; i < n; i++) count += !tk_is_continuation(text[i]);
    return count;
}

static void replace(writer *out, const lookup *l) {
    TK_ASSERT(l->place < l->map->n_strings && l->start < l->stop && l->stop <= l->end);
    const uint8_t *string = l->map->strings + l->place;
    size_t n = strlen((const char *)string);
    unsigned length;
    int more = count_characters(string, n) - count_characters(l->text + l->start, l->stop - l->start);
    int left = count_characters(string, n);
    for (size_t i = 0; i < n; i += length, left--) put(out, tk_utf8_decode(string + i, &length), left <= more);
    if (more < 0 && out->waits) out->change += more;
    else if (more < 0) out->w.made.shifted = 1;
    out->read = l->stop;
}

int tk_charsmap_normalize(tk_aligned *a, const tk_charsmap *map, int longest) {
    TK_ASSERT(map->n_units && map->strings);
    lookup l = {.map = map, .text = a->text, .longest = longest};
    size_t first = 0;
    for (; first < a->n_pieces; first++) {
        l.at = l.cluster_end = a->pieces[first].start;
        l.end = a->pieces[first].end;
        if (a->pieces[first].id == TK_NO_TOKEN && find_next(&l)) break;
    }
    if (first == a->n_pieces) return TK_OK;
    writer out = {0};
    tk_rewrite_begin(&out.w, a);
    tk_rewrite *w = &out.w;
    for (size_t number = tk_rewrite_next(w, 0); number < a->n_pieces; number = tk_rewrite_next(w, number + 1)) {
        if (number < first) {
            tk_rewrite_keep(w, w->end - w->at);
            continue;
        }
        out.read = w->at;
        int found = 1;
        if (number > first) {
            l.at = l.cluster_end = w->at;
            l.end = w->end;
            found = find_next(&l);
        }
        for (; found && w->status == TK_OK; found = find_next(&l)) {
            keep_until(&out, l.start);
            replace(&out, &l);
        }
        keep_until(&out, w->end);
        flush(&out);
    }
    return tk_rewrite_end(w, a);
}
