/* Atoms of characters, the tables of a rule, and units cut one character at a time: see cut_rule.h. */
#include "byte_kernels.h"
#include "split/cut_rule.h"

/* The characters of the atoms beyond ASCII. Those that lead are Grapheme_Cluster_Break=Prepend of Unicode 17, from
   U+11000 on whole blocks with them: what is taken for one costs cuts alone. */
static const struct {
    uint32_t first, last;
    unsigned atom;
} RANGES[] = {
    {0x85, 0x85, TK_ATOM_WHITE},       {0xA0, 0xA0, TK_ATOM_WHITE},       {0x600, 0x605, TK_ATOM_LEADS},
    {0x6DD, 0x6DD, TK_ATOM_LEADS},     {0x70F, 0x70F, TK_ATOM_LEADS},     {0x890, 0x891, TK_ATOM_LEADS},
    {0x8E2, 0x8E2, TK_ATOM_LEADS},     {0xD4E, 0xD4E, TK_ATOM_LEADS},     {0x1680, 0x1680, TK_ATOM_WHITE},
    {0x2000, 0x200A, TK_ATOM_WHITE},   {0x2028, 0x2029, TK_ATOM_WHITE},   {0x202F, 0x202F, TK_ATOM_WHITE},
    {0x205F, 0x205F, TK_ATOM_WHITE},   {0x2581, 0x2581, TK_ATOM_BLANK},   {0x3000, 0x3000, TK_ATOM_WHITE},
    {0x3400, 0x4DBF, TK_ATOM_HAN},     {0x4E00, 0x9FFF, TK_ATOM_HAN},     {0xF900, 0xFAFF, TK_ATOM_HAN},
    {0x11000, 0x11FFF, TK_ATOM_LEADS}, {0x20000, 0x2A6DF, TK_ATOM_HAN},   {0x2A700, 0x2B81F, TK_ATOM_HAN},
    {0x2B920, 0x2CEAF, TK_ATOM_HAN},   {0x2F800, 0x2FA1F, TK_ATOM_HAN},
};
enum { N_RANGES = sizeof RANGES / sizeof *RANGES };

unsigned tk_atom_beyond_ascii(uint32_t c) {
    TK_ASSERT(c >= 0x80 && c < 0x110000);
    if (c - 0x4E00 < 0x5200) return TK_ATOM_HAN;
    unsigned low = 0, high = N_RANGES;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (RANGES[middle].last < c) low = middle + 1;
        else high = middle;
    }
    return low < N_RANGES && RANGES[low].first <= c ? RANGES[low].atom : TK_ATOM_OTHER;
}

static void add(tk_byte_set *set, unsigned byte) { set->low[byte >> 7][byte & 15] |= (uint8_t)(1u << (byte >> 4 & 7)); }

void tk_cut_rule_finish(tk_cut_rule *rule) {
    unsigned used = 0;
    for (unsigned i = 1; i < N_RANGES; i++) TK_ASSERT(RANGES[i - 1].last < RANGES[i].first); /* the search is binary */
    for (unsigned atom = 0; atom < TK_ATOMS; atom++) used |= rule->right[atom];
    rule->n_sets = 0;
    while (used >> rule->n_sets) rule->n_sets++;
    TK_ASSERT(rule->n_sets <= TK_RULE_SETS);
    memset(rule->left_sets, 0, sizeof rule->left_sets);
    memset(rule->right_sets, 0, sizeof rule->right_sets);
    memset(&rule->odd, 0, sizeof rule->odd);
    memset(&rule->han, 0, sizeof rule->han);
    memset(&rule->kept_set, 0, sizeof rule->kept_set);
    for (unsigned byte = 0; byte < 256; byte++)
        if (byte >= 0x80 || rule->kept[byte]) add(&rule->kept_set, byte);
    for (unsigned byte = 0xE5; byte <= 0xE9; byte++) add(&rule->han, byte); /* U+5000 to U+9FFF */
    for (unsigned k = 0; k < rule->n_sets; k++)
        for (unsigned byte = 0; byte < 256; byte++) {
            unsigned atom = byte < 0x80 ? byte : TK_ATOM_OTHER;
            if (rule->left[atom] >> k & 1) add(&rule->left_sets[k], byte);
            if (byte < 0x80 && rule->right[atom] >> k & 1) add(&rule->right_sets[k], byte);
        }
    for (unsigned i = 0; i < N_RANGES; i++) {
        const unsigned atom = RANGES[i].atom;
        if (rule->left[atom] == rule->left[TK_ATOM_OTHER] && !rule->right[atom]) continue;
        for (uint32_t c = RANGES[i].first;; c = c + 64 < RANGES[i].last ? c + 64 : RANGES[i].last) {
            uint8_t bytes[4];
            tk_utf8_put(bytes, c);
            add(&rule->odd, bytes[0]);
            if (c == RANGES[i].last) break;
        }
    }
}

/* Whether no token stands across the boundary before text[at], where a character of `length` bytes begins. */
static int apart(const tk_cut_rule *rule, const uint8_t *text, size_t at, unsigned length) {
    uint8_t left[4] = {0}, right[4] = {0};
    size_t start = at - 1;
    if (text[at] < 0x80) return 0;
    while (tk_is_continuation(text[start])) start--;
    memcpy(left, text + start, at - start);
    memcpy(right, text + at, length);
    return !tk_has_bit(rule->neighbors, tk_neighbor_pair(tk_packed(left, 4), tk_packed(right, 4)));
}

static size_t cut_units(const tk_byte_kernels *by, const tk_cut_rule *rule, const uint8_t *text, size_t n, size_t *pos,
                        size_t *ends, size_t limit) {
    size_t count = 0, at = *pos;
    unsigned length, atom;
    TK_ASSERT(limit >= 64 && rule->n_sets <= TK_RULE_SETS);
    if (at >= n) return 0;
    atom = tk_atom_at(text + at, &length);
    at += length;
    while (count < limit && at < n) {
        size_t before = at;
        if (by->cut_blocks) count += by->cut_blocks(rule, text, n, &at, ends + count, limit - count);
        if (at != before) {
            if (n - at > 64 + 4) break; /* no room for the cuts of one more block */
            while (at < n && tk_is_continuation(text[at])) at++;
            if (at == n) break;
            atom = tk_atom_before(text + at);
        }
        for (; at < n && count < limit; at += length) {
            unsigned next = tk_atom_at(text + at, &length);
            const int kept = rule->neighbors && rule->kept[atom] && rule->kept[next];
            if (rule->left[atom] & rule->right[next] || (kept && apart(rule, text, at, length)))
                ends[count++] = at;
            atom = next;
        }
    }
    if (count < limit && at >= n) ends[count++] = n;
    TK_ASSERT(count && count <= limit && ends[count - 1] > *pos && ends[count - 1] <= n);
    *pos = ends[count - 1];
    return count;
}

size_t tk_cut_units(const tk_cut_rule *rule, const uint8_t *text, size_t n, size_t *pos, size_t *ends, size_t limit) {
    return cut_units(tk_kernels, rule, text, n, pos, ends, limit);
}

size_t tk_cut_units_by(int isa, const tk_cut_rule *rule, const uint8_t *text, size_t n, size_t *pos, size_t *ends,
                       size_t limit) {
    return cut_units(tk_byte_kernels_of(isa), rule, text, n, pos, ends, limit);
}
