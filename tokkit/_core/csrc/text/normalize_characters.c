/* Changes each character of the pieces by a rule that depends on this character only.

   A character whose replacement has as many bytes is changed in place: its alignment stays. From the first other one
   on, the text is written anew. */
#include "text/normalize.h"

/* What a rule makes of the character at p, of `length` bytes: at most CHARACTER_MOST bytes, all of them from the
   place of the character. Returns how many; 0 drops it; CHARACTER_NEEDS_FALLBACK asks the caller for another way. */
enum { CHARACTER_MOST = 64, CHARACTER_NEEDS_FALLBACK = 255 };

typedef struct character_rule {
    unsigned (*map)(const struct character_rule *rule, const uint8_t *p, unsigned length, uint8_t *out);
    uint8_t first, last; /* ASCII that only `lower` may change */
    uint8_t lower;       /* A to Z become a to z */
    uint8_t quick;       /* other characters without these bits of tk_quick stay; 0: `map` decides */
    uint8_t clean, chinese, strip; /* Bert's */
} character_rule;

TK_INLINE int is_plain(const character_rule *rule, uint8_t byte) {
    return (uint8_t)(byte - rule->first) <= rule->last - rule->first;
}

TK_INLINE uint8_t lowered(uint8_t byte) { return byte | (uint8_t)(((uint8_t)(byte - 'A') < 26) << 5); }

/* After the plain ASCII from `at` on. */
TK_INLINE size_t plain_end(const character_rule *rule, const uint8_t *text, size_t at, size_t end) {
    enum { BLOCK = 16 }; /* compilers make vectors of it */
    const uint8_t first = rule->first, width = rule->last - rule->first;
    for (; at + BLOCK <= end; at += BLOCK) {
        uint8_t other = 0;
        for (unsigned k = 0; k < BLOCK; k++) other |= (uint8_t)(text[at + k] - first) > width;
        if (other) break;
    }
    while (at < end && is_plain(rule, text[at])) at++;
    return at;
}

static void lower_ascii(uint8_t *text, size_t n) {
    for (size_t i = 0; i < n; i++) text[i] = lowered(text[i]);
}

TK_INLINE unsigned changed(const character_rule *rule, const uint8_t *p, unsigned length, uint8_t *out) {
    if (rule->quick && length > 1) {
        unsigned n;
        if (!(tk_quick(tk_utf8_decode(p, &n)) & rule->quick)) return memcpy(out, p, 4), length;
    }
    return rule->map(rule, p, length, out);
}

/* Change what can be changed in its place from `at` on; returns where that ends. */
static size_t change_in_place(const character_rule *rule, uint8_t *text, size_t at, size_t end) {
    TK_ASSERT(rule->map && rule->first <= rule->last && rule->last < 0x80 && at <= end);
    uint8_t out[CHARACTER_MOST];
    while (at < end) {
        size_t behind = plain_end(rule, text, at, end);
        if (rule->lower) lower_ascii(text + at, behind - at);
        at = behind;
        while (at < end && !is_plain(rule, text[at])) {
            unsigned length = tk_utf8_length(text[at]), n = changed(rule, text + at, length, out);
            if (n != length || tk_utf8_length(out[0]) != n) return at;
            for (unsigned k = 0; k < n; k++) text[at + k] = out[k];
            at += n;
        }
    }
    return end;
}

static void change_rest(const character_rule *rule, tk_rewrite *w) {
    const uint8_t *text = w->from->text;
    uint8_t out[CHARACTER_MOST];
    while (w->at < w->end && w->status == TK_OK) {
        size_t n = plain_end(rule, text, w->at, w->end) - w->at;
        tk_rewrite_keep(w, n);
        if (rule->lower && w->status == TK_OK) lower_ascii(w->made.text + w->made.n - n, n);
        while (w->at < w->end && !is_plain(rule, text[w->at])) {
            unsigned length = tk_utf8_length(text[w->at]), size = changed(rule, text + w->at, length, out);
            if (size == CHARACTER_NEEDS_FALLBACK) {
                w->status = TK_NEEDS_FALLBACK;
                return;
            }
            TK_ASSERT(size <= CHARACTER_MOST);
            tk_rewrite_bytes(w, out, size, tk_rewrite_here(w));
            tk_rewrite_drop(w, length);
        }
    }
}

static int normalize_characters(tk_aligned *a, const character_rule *rule) {
    size_t first = 0, at = 0;
    for (; first < a->n_pieces; first++) {
        const tk_piece *piece = a->pieces + first;
        if (piece->id != TK_NO_TOKEN) continue;
        at = change_in_place(rule, a->text, piece->start, piece->end);
        if (at < piece->end) break;
    }
    if (first == a->n_pieces) return TK_OK;
    tk_rewrite w;
    tk_rewrite_begin(&w, a);
    for (size_t number = tk_rewrite_next(&w, 0); number < a->n_pieces; number = tk_rewrite_next(&w, number + 1)) {
        tk_rewrite_keep(&w, number < first ? w.end - w.at : number == first ? at - w.at : 0);
        change_rest(rule, &w);
    }
    return tk_rewrite_end(&w, a);
}

/* ---- the rules */

static unsigned put(uint8_t *out, uint32_t c) { return (unsigned)(tk_utf8_put(out, c) - out); }

static unsigned put_lower(uint8_t *out, uint32_t c) {
    if (c < 0x80) return out[0] = lowered((uint8_t)c), 1;
    const uint32_t *parts = tk_pool + tk_record_of(c)->lower;
    if (parts == tk_pool) return put(out, c);
    unsigned n = 0;
    for (uint32_t k = 1; k <= parts[0]; k++) n += put(out + n, parts[k]);
    return n;
}

static unsigned map_lower(const character_rule *rule, const uint8_t *p, unsigned length, uint8_t *out) {
    (void)rule;
    return put_lower(out, tk_utf8_decode(p, &length));
}

int tk_normalize_lowercase(tk_aligned *a) {
    const character_rule rule = {.map = map_lower, .last = 0x7F, .lower = 1, .quick = TK_QUICK_LOWER};
    return normalize_characters(a, &rule);
}

static unsigned map_to_nothing(const character_rule *rule, const uint8_t *p, unsigned length, uint8_t *out) {
    return (void)rule, (void)p, (void)length, (void)out, 0;
}

int tk_normalize_strip_accents(tk_aligned *a) {
    const character_rule rule = {.map = map_to_nothing, .last = 0x7F, .quick = TK_QUICK_MARK};
    return normalize_characters(a, &rule);
}

static unsigned map_nmt(const character_rule *rule, const uint8_t *p, unsigned length, uint8_t *out) {
    uint32_t c = tk_utf8_decode(p, &length);
    (void)rule;
    switch (c) {
    case 0x09: case 0x0A: case 0x0C: case 0x0D: case 0x1680: case 0x200B: case 0x200C: case 0x200D: case 0x200E:
    case 0x200F: case 0x2028: case 0x2029: case 0x2581: case 0xFEFF: case 0xFFFD:
        return out[0] = ' ', 1;
    case 0x7F: case 0x8F: case 0x9F:
        return 0;
    }
    return c && c < 0x20 ? 0 : put(out, c);
}

int tk_normalize_nmt(tk_aligned *a) {
    const character_rule rule = {.map = map_nmt, .first = 0x20, .last = 0x7E};
    return normalize_characters(a, &rule);
}

/* The symbol of a byte: itself where it is a printable character of Latin-1, else one from U+0100 on, in order. */
static uint32_t byte_symbol(uint8_t byte) {
    if (byte <= 0x20) return 0x100u + byte;
    if (byte < 0x7F) return byte;
    if (byte <= 0xA0) return 0x121u + (byte - 0x7Fu);
    return byte == 0xAD ? 0x143 : byte;
}

static unsigned map_byte_level(const character_rule *rule, const uint8_t *p, unsigned length, uint8_t *out) {
    unsigned n = 0;
    (void)rule;
    TK_ASSERT(length >= 1 && length <= 4);
    for (unsigned k = 0; k < length; k++) n += put(out + n, byte_symbol(p[k]));
    return n;
}

int tk_normalize_byte_level(tk_aligned *a) {
    const character_rule rule = {.map = map_byte_level, .first = 0x21, .last = 0x7E};
    return normalize_characters(a, &rule);
}

/* ---- Bert: clean, space Chinese characters, NFD without marks, lower case, in this order */

static int is_chinese(uint32_t c) {
    return c - 0x4E00 < 0x5200 || c - 0x3400 < 0x19C0 || c - 0xF900 < 0x200 || c - 0x20000 < 0xA6E0 ||
           c - 0x2A700 < 0x1120 || c - 0x2B920 < 0x1590 || c - 0x2F800 < 0x220;
}

static int is_space(uint32_t c) {
    return c == ' ' || (c - 9 < 5 && c - 0xB > 1) || c == 0xA0 || c == 0x1680 || c - 0x2000 < 11 || c - 0x2028 < 2 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

/* One character of a decomposition. A mark that stays would have to be put in order: that is another's work. */
static unsigned put_bert(const character_rule *rule, uint8_t *out, uint32_t c) {
    if (rule->strip && c >= 0x80) {
        if (tk_quick(c) & TK_QUICK_NONSPACING) return 0;
        if (tk_record_of(c)->combining) return CHARACTER_NEEDS_FALLBACK;
    }
    return rule->lower ? put_lower(out, c) : put(out, c);
}

static unsigned map_bert(const character_rule *rule, const uint8_t *p, unsigned length, uint8_t *out) {
    uint32_t c = tk_utf8_decode(p, &length);
    unsigned n = 0, size;
    if (rule->clean) {
        if (is_space(c)) return out[0] = ' ', 1;
        if (c == 0xFFFD || tk_quick(c) & TK_QUICK_OTHER) return 0;
    }
    int chinese = rule->chinese && is_chinese(c);
    if (chinese) out[n++] = ' ';
    const uint32_t itself[] = {1, c}, *parts = itself;
    uint32_t jamo[4];
    if (rule->strip && tk_is_hangul(c)) {
        uint32_t k = c - TK_HANGUL;
        jamo[0] = 2 + (k % TK_JAMO_TS != 0);
        jamo[1] = TK_JAMO_L + k / (TK_JAMO_VS * TK_JAMO_TS);
        jamo[2] = TK_JAMO_V + k / TK_JAMO_TS % TK_JAMO_VS;
        jamo[3] = TK_JAMO_T + k % TK_JAMO_TS;
        parts = jamo;
    } else if (rule->strip && tk_record_of(c)->canonical) {
        parts = tk_pool + tk_record_of(c)->canonical;
    }
    for (uint32_t k = 1; k <= parts[0]; k++, n += size) {
        size = put_bert(rule, out + n, parts[k]);
        if (size == CHARACTER_NEEDS_FALLBACK) return size;
    }
    if (chinese) out[n++] = ' ';
    TK_ASSERT(n <= CHARACTER_MOST);
    return n;
}

int tk_normalize_bert(tk_aligned *a, int clean, int chinese, int strip, int lower) {
    character_rule rule = {.map = map_bert, .last = 0x7F, .lower = lower != 0};
    rule.clean = clean != 0;
    rule.chinese = chinese != 0;
    rule.strip = strip != 0;
    if (clean) rule.first = 0x20, rule.last = 0x7E;
    int status = normalize_characters(a, &rule);
    if (status != TK_NEEDS_FALLBACK) return status;
    /* One stage after the other, of what is left: what was changed in its place already stays what it is. */
    rule.strip = rule.lower = 0;
    status = normalize_characters(a, &rule);
    if (status == TK_OK) status = tk_normalize_form(a, TK_QUICK_NFD);
    rule = (character_rule){.map = map_to_nothing, .last = 0x7F, .quick = TK_QUICK_NONSPACING};
    if (status == TK_OK) status = normalize_characters(a, &rule);
    return status == TK_OK && lower ? tk_normalize_lowercase(a) : status;
}
