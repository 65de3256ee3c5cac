/* Reading and searching a precompiled_charsmap: see charsmap.h. */
#include "text/charsmap.h"

enum { LEAF_BELOW = 1 << 8, FAR = 1 << 9 };
#define VALUE_BIT UINT32_C(0x80000000)

TK_INLINE uint32_t label(uint32_t unit) { return unit & (VALUE_BIT | 0xFF); }

TK_INLINE size_t offset(uint32_t unit) { return (size_t)(unit >> 10) << (unit & FAR ? 8 : 0); }

/* Whether a string's place is there, as check_leaves() has seen. */
static inline int is_leaf(const tk_charsmap *map, size_t at) {
    return at < map->n_units && (map->units[at] & ~VALUE_BIT) < map->n_strings;
}

size_t tk_charsmap_find(const tk_charsmap *map, const uint8_t *p, size_t n) {
    TK_ASSERT(map->n_units && (p || !n));
    size_t at = offset(map->units[0]);
    for (size_t i = 0; i < n && p[i]; i++) {
        at ^= p[i];
        if (at >= map->n_units) return SIZE_MAX;
        uint32_t unit = map->units[at];
        if (label(unit) != p[i]) return SIZE_MAX;
        at ^= offset(unit);
        TK_ASSERT(!(unit & LEAF_BELOW) || is_leaf(map, at));
        if (unit & LEAF_BELOW) return map->units[at] & ~VALUE_BIT;
    }
    return SIZE_MAX;
}

size_t tk_charsmap_find_longest(const tk_charsmap *map, const uint8_t *p, size_t n, size_t *length) {
    TK_ASSERT(map->n_units && (p || !n) && length);
    size_t at = offset(map->units[0]), found = SIZE_MAX;
    for (size_t i = 0; i < n && p[i]; i++) {
        at ^= p[i];
        if (at >= map->n_units) break;
        uint32_t unit = map->units[at];
        if (label(unit) != p[i]) break;
        at ^= offset(unit);
        /* A map may have half a character, which is never replaced: what is left would be no text. */
        if (!(unit & LEAF_BELOW) || (i + 1 < n && tk_is_continuation(p[i + 1]))) continue;
        TK_ASSERT(is_leaf(map, at));
        found = map->units[at] & ~VALUE_BIT;
        *length = i + 1;
    }
    return found;
}

int tk_charsmap_begins(const tk_charsmap *map, const uint8_t *p, size_t n) {
    TK_ASSERT(map->n_units && (p || !n));
    size_t at = offset(map->units[0]);
    for (size_t i = 0; i < n; i++) {
        at ^= p[i];
        if (at >= map->n_units || label(map->units[at]) != p[i]) return 0;
        if (map->units[at] & LEAF_BELOW) return 1;
        at ^= offset(map->units[at]);
    }
    return 1;
}

/* Whether all leaves that a walk can reach hold places of strings. A unit with label c can only be the child by c of
   what stands at its own place ^ c: so all edges are known in one pass, and each unit is visited once. */
static int check_leaves(const tk_charsmap *map, const char **reason) {
    const size_t n = map->n_units, n_bases = (n | 0xFF) + 1;
    uint32_t *first = tk_calloc(n_bases, 4), *next = tk_calloc(n, 4), *stack = tk_alloc(n, 4);
    size_t depth = 0;
    int status = first && next && stack ? TK_OK : TK_NO_MEMORY;
    for (size_t i = 1; status == TK_OK && i < n; i++) {
        uint32_t c = label(map->units[i]);
        if (!c || c > 0xFF) continue;
        next[i] = first[i ^ c];
        first[i ^ c] = (uint32_t)i;
    }
    for (size_t base = status == TK_OK ? offset(map->units[0]) : n_bases;;) {
        if (base < n_bases) {
            for (uint32_t i = first[base], after; i; i = after) after = next[i], stack[depth++] = i;
            first[base] = 0; /* whoever else comes here finds it seen */
        }
        if (!depth) break;
        uint32_t i = stack[--depth];
        TK_ASSERT(depth < n && i < n);
        base = i ^ offset(map->units[i]);
        if (!(map->units[i] & LEAF_BELOW)) continue;
        size_t place = base < n ? map->units[base] & ~VALUE_BIT : SIZE_MAX;
        if (place < map->n_strings && !tk_is_continuation(map->strings[place])) continue;
        *reason = "a leaf of its trie points outside its strings";
        status = TK_BAD_INPUT;
        break;
    }
    free(first);
    free(next);
    free(stack);
    return status;
}

int tk_charsmap_init(tk_charsmap *map, const uint8_t *data, size_t n, const char **reason) {
    TK_ASSERT(map && (data || !n) && reason);
    memset(map, 0, sizeof *map);
    *reason = "it ends before its trie does";
    if (n < 4) return TK_BAD_INPUT;
    size_t size = data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16 | (size_t)data[3] << 24;
    if (size > n - 4) return TK_BAD_INPUT;
    *reason = "the size of its trie is not a positive multiple of 4";
    if (!size || size % 4) return TK_BAD_INPUT;
    map->n_units = size / 4;
    map->n_strings = n - 4 - size;
    map->units = tk_alloc(map->n_units, 4);
    map->strings = tk_alloc(map->n_strings + 1, 1);
    if (!map->units || !map->strings) return TK_NO_MEMORY;
    const uint8_t *p = data + 4;
    for (size_t i = 0; i < map->n_units; i++, p += 4)
        map->units[i] = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    memcpy(map->strings, p, map->n_strings);
    map->strings[map->n_strings] = 0;
    *reason = "the root of its trie has a label"; /* it would be a child, which check_leaves does not see */
    if (label(map->units[0]) && label(map->units[0]) <= 0xFF) return TK_BAD_INPUT;
    int status = check_leaves(map, reason);
    if (status != TK_OK) return status;
    map->all_plain = 1;
    for (unsigned c = 0; c < 128; c++) {
        uint8_t byte = (uint8_t)c;
        map->plain[c] = c != '\r' && tk_charsmap_find(map, &byte, 1) == SIZE_MAX; /* CR may be one with LF */
        if (c >= 0x20 && c < 0x7F && !map->plain[c]) map->all_plain = 0;
    }
    for (unsigned k = 0; k < sizeof map->leads; k++) {
        const uint8_t two[] = {(uint8_t)(0xE0 | k >> 6), (uint8_t)(0x80 | (k & 63))};
        map->leads[k] = (uint8_t)tk_charsmap_begins(map, two, sizeof two);
    }
    return TK_OK;
}

void tk_charsmap_free(tk_charsmap *map) {
    free(map->units);
    free(map->strings);
    memset(map, 0, sizeof *map);
}
