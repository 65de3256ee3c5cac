/* Computes the hashes of n-grams, each from the hash of its prefix: see ngrams.h. */
#include "embed/ngrams.h"

#define FNV_START 2166136261u
#define FNV_PRIME 16777619u
#define WORDS_PRIME UINT64_C(116049371)

TK_INLINE uint32_t hash_more(uint32_t hash, uint8_t byte) { return (hash ^ (uint32_t)(int8_t)byte) * FNV_PRIME; }

uint32_t tk_ngram_hash(const uint8_t *text, size_t n) {
    uint32_t hash = FNV_START;
    for (size_t i = 0; i < n; i++) hash = hash_more(hash, text[i]);
    return hash;
}

int tk_row_push(tk_row_list *list, uint32_t row) {
    int status = tk_reserve(&list->rows, &list->capacity, list->n + 1, sizeof *list->rows);
    if (!status) list->rows[list->n++] = row;
    return status;
}

TK_INLINE int push_bucket(const tk_ngram_rows *o, uint32_t bucket, tk_row_list *out) {
    TK_ASSERT(bucket < o->bucket);
    if (!o->left) return tk_row_push(out, o->first + bucket);
    return o->left[bucket] < 0 ? TK_OK : tk_row_push(out, o->first + (uint32_t)o->left[bucket]);
}

/* Byte i of "<word>". */
TK_INLINE uint8_t byte_at(const uint8_t *word, size_t n, size_t i) { return !i ? '<' : i <= n ? word[i - 1] : '>'; }
TK_INLINE int begins(uint8_t byte) { return (byte & 0xC0) != 0x80; }

int tk_ngrams_of_word(const tk_ngram_rows *o, const uint8_t *word, size_t n, tk_row_list *out) {
    size_t end = n + 2;
    TK_ASSERT(word || !n); /* a file may say min_n > max_n: then a word has no n-grams */
    if (!o->bucket) return TK_OK;
    for (size_t i = 0; i < end; i++) {
        uint32_t hash = FNV_START;
        if (!begins(byte_at(word, n, i))) continue;
        for (size_t j = i, size = 1; j < end && size <= o->max_n; size++) {
            do hash = hash_more(hash, byte_at(word, n, j++));
            while (j < end && !begins(byte_at(word, n, j)));
            if (size < o->min_n || (size == 1 && (!i || j == end))) continue;
            if (push_bucket(o, hash % o->bucket, out)) return TK_NO_MEMORY;
        }
    }
    return TK_OK;
}

TK_INLINE uint64_t widened(uint32_t hash) { return (uint64_t)(int64_t)(int32_t)hash; }

int tk_ngrams_of_words(const tk_ngram_rows *o, const uint32_t *hashes, size_t n, size_t longest, tk_row_list *out) {
    if (!o->bucket) return TK_OK;
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = widened(hashes[i]);
        for (size_t j = i + 1; j < n && j - i < longest; j++) {
            hash = hash * WORDS_PRIME + widened(hashes[j]);
            if (push_bucket(o, (uint32_t)(hash % o->bucket), out)) return TK_NO_MEMORY;
        }
    }
    return TK_OK;
}
