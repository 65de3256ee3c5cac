/* Text in, normalized pieces out: the loop of csrc/bert.h, written once over what an instruction set says of 64 bytes.

   Whoever includes this has, before: `tk_bert_masks read_block(p, out, lower)`, which also puts the 64 bytes, in lower
   case if wanted, at `out`; and `void write_bits(mask, from, out)`, from + the number of each bit, with room for 64. */
#ifndef TK_BERT_SPLIT_H
#define TK_BERT_SPLIT_H
#include "bert.h"

enum { BLOCK = 64 };

TK_INLINE void end_word(tk_bert_worker *w) {
    if (w->open) w->ends[w->n_ends++] = (uint32_t)w->n;
    w->open = 0;
}

TK_INLINE void put_spans(tk_bert_worker *w, size_t count, size_t start, size_t end) {
    for (size_t i = 0; i < count; i++) w->from[w->n + i] = (uint32_t)start, w->to[w->n + i] = (uint32_t)end;
}

/* The first `count` characters of a block, all of them ASCII that no table has to say anything of. */
TK_INLINE void take_block(tk_bert_worker *w, const tk_bert_masks *masks, size_t count, size_t at, int aligned) {
    uint64_t valid = UINT64_MAX >> (BLOCK - count);
    uint64_t word = masks->word & valid, mark = masks->mark & valid;
    uint64_t behind = word << 1 | (uint64_t)w->open;
    uint64_t starts = (word & ~behind) | mark, ends = ((~word & behind) | mark << 1) & valid;
    write_bits(starts, (uint32_t)w->n, w->starts + w->n_starts);
    write_bits(ends, (uint32_t)w->n, w->ends + w->n_ends);
    w->n_starts += (size_t)__builtin_popcountll(starts);
    w->n_ends += (size_t)__builtin_popcountll(ends);
    if (aligned)
        for (uint32_t i = 0; i < BLOCK; i++) {
            w->from[w->n + i] = (uint32_t)at + i;
            w->to[w->n + i] = (uint32_t)at + i + 1;
        }
    w->n += count;
    w->open = (int)(word >> (count - 1) & 1);
    if (mark >> (count - 1) & 1) w->ends[w->n_ends++] = (uint32_t)w->n;
}

/* One character by its entry; 0 where that is strange. */
TK_INLINE int take_character(const tk_bert *m, tk_bert_worker *w, const uint8_t *p, unsigned length, uint32_t c,
                             size_t at, int aligned) {
    uint8_t made[BLOCK];
    const uint8_t *bytes = p;
    size_t count = length;
    int worked_out = c >= TK_BERT_TABLE;
    uint32_t entry = worked_out ? tk_bert_entry_of(m, &w->model, c, made) : m->table[c];
    switch (entry & ((1u << TK_BERT_KIND_BITS) - 1)) {
    case TK_BERT_WORD:
        count = entry >> TK_BERT_KIND_BITS & ((1u << TK_BERT_LENGTH_BITS) - 1);
        bytes = worked_out ? made : m->pool + (entry >> (TK_BERT_KIND_BITS + TK_BERT_LENGTH_BITS));
        /* fall through */
    case TK_BERT_KEEP:
        if (!w->open) w->starts[w->n_starts++] = (uint32_t)w->n;
        w->open = 1;
        for (size_t i = 0; i < count; i++) w->text[w->n + i] = bytes[i];
        if (aligned) put_spans(w, count, at, at + length);
        w->n += count;
        return 1;
    case TK_BERT_ONE:
        end_word(w);
        w->starts[w->n_starts++] = entry >> TK_BERT_KIND_BITS;
        if (aligned) {
            put_spans(w, 1, at, at + length);
            w->places[w->n_ends] = (uint32_t)w->n++;
        }
        w->ends[w->n_ends++] = 0;
        return 1;
    case TK_BERT_WHITE:
        end_word(w);
        return 1;
    case TK_BERT_DROP:
        return 1;
    default:
        return 0;
    }
}

TK_INLINE size_t split(const tk_bert *m, tk_bert_worker *w, const uint8_t *text, size_t n, size_t at, int *status,
                       int aligned) {
    uint8_t last[BLOCK];
    while (at < n && w->n + TK_BERT_SLACK <= w->room && w->n_starts + 2 * BLOCK <= TK_BERT_PIECES) {
        const uint8_t *p = text + at;
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        if (TK_UNLIKELY(count < BLOCK)) {
            memset(last, ' ', sizeof last);
            memcpy(last, p, count);
            p = last;
        }
        if (TK_LIKELY(*p < 0x80)) {
            tk_bert_masks masks = read_block(p, w->text + w->n, m->lower);
            if (masks.other && (size_t)__builtin_ctzll(masks.other) < count)
                count = (size_t)__builtin_ctzll(masks.other);
            if (count) {
                take_block(w, &masks, count, at, aligned);
                at += count;
                p += count;
                if (!masks.other || at == n) continue;
            }
        }
        /* What is not for blocks, up to what may be, and no further than there is room for what it becomes. */
        size_t most = at + BLOCK / 4;
        do {
            unsigned length;
            uint32_t c = tk_utf8_decode(text + at, &length);
            if (TK_UNLIKELY(!take_character(m, w, text + at, length, c, at, aligned))) return *status = TK_BERT_ODD, at;
            at += length;
        } while (at < n && at < most && text[at] >= 0x80);
    }
    return at;
}

#define TK_BERT_SPLIT(isa)                                                                                      \
    size_t tk_bert_split_##isa(const tk_bert *m, tk_bert_worker *w, const uint8_t *text, size_t n, size_t at,     \
                               int *status) {                                                                   \
        return w->aligned ? split(m, w, text, n, at, status, 1) : split(m, w, text, n, at, status, 0);            \
    }

#endif
