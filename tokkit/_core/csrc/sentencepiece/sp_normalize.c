/* Normalizes texts by the rules of a SentencePiece model: see sp_normalize.h. */
#include "sentencepiece/sp_normalize.h"

static const uint8_t SPACE[] = {0xE2, 0x96, 0x81}; /* U+2581 */
enum { SPACE_BYTES = sizeof SPACE, BLOCK = 16 };
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* ---- what is known beforehand */

/* Whether c may be copied unseen where ASCII follows: it begins no symbol and nothing with ASCII after it that the
   charsmap has. */
static int is_plain(const tk_sp_normalizer *z, uint8_t c) {
    size_t length;
    if (z->starts[c]) return 0;
    if (!z->has_map) return 1;
    if (tk_charsmap_find_longest(&z->map, &c, 1, &length) != SIZE_MAX) return 0;
    for (unsigned next = 1; next < 128; next++)
        if (tk_charsmap_begins(&z->map, (const uint8_t[]){c, (uint8_t)next}, 2)) return 0;
    return 1;
}

int tk_sp_normalizer_init(tk_sp_normalizer *z, const uint8_t *charsmap, size_t n, tk_sp_options options,
                          const tk_own_tokens *symbols, const char **reason) {
    int status = TK_OK;
    int64_t twice;
    memset(z, 0, sizeof *z);
    z->options = options;
    z->has_map = n > 0;
    if (n) status = tk_charsmap_init(&z->map, charsmap, n, reason);
    if (status != TK_OK) return status;
    for (size_t id = 0; symbols && id < symbols->n_ids; id++)
        if (tk_own_length(symbols, id)) z->has_symbols = z->starts[tk_own_bytes(symbols, id)[0]] = 1;
    if (z->has_symbols) status = tk_token_trie_build(&z->symbols, symbols, NULL, 0, SIZE_MAX, &twice);
    if (status != TK_OK) return TK_NO_MEMORY;
    z->all_plain = 1;
    for (unsigned c = 1; c < 128; c++) {
        z->plain[c] = (uint8_t)is_plain(z, (uint8_t)c);
        if (c >= 0x20 && c < 0x7F && !z->plain[c]) z->all_plain = 0;
    }
    for (unsigned c = 0x80; z->has_map && c < 0x800; c++) {
        const uint8_t two[] = {(uint8_t)(0xC0 | c >> 6), (uint8_t)(0x80 | (c & 63))};
        z->mapped[c] = (uint8_t)tk_charsmap_begins(&z->map, two, sizeof two);
    }
    return TK_OK;
}

void tk_sp_normalizer_free(tk_sp_normalizer *z) {
    tk_charsmap_free(&z->map);
    tk_token_trie_free(&z->symbols);
}

void tk_sp_text_free(tk_sp_text *out) {
    free(out->text);
    free(out->origin);
    memset(out, 0, sizeof *out);
}

/* ---- writing */

typedef struct {
    const tk_sp_normalizer *z;
    tk_sp_text *out;
    const uint8_t *text;
    size_t at, n;
    int after_space; /* and spaces that follow it go */
} run;

static int reserve(tk_sp_text *out, size_t more) {
    if (out->room && out->n + more > out->room) return TK_GROWN;
    int status = tk_reserve(&out->text, &out->text_capacity, out->n + more + TK_SP_SLACK, 1);
    if (status == TK_OK && out->aligns)
        status = tk_reserve(&out->origin, &out->origin_capacity, out->n + more + TK_SP_SLACK, sizeof *out->origin);
    return status;
}

/* What has been reserved is written: n bytes, all of the place `from`. */
TK_INLINE void put(tk_sp_text *out, const uint8_t *bytes, size_t n, size_t from) {
    memcpy(out->text + out->n, bytes, n);
    for (size_t k = 0; out->aligns && k < n; k++) out->origin[out->n + k] = (uint32_t)from;
    out->n += n;
}

TK_INLINE void put_space(const run *r) {
    const tk_sp_options *o = &r->z->options;
    if (o->escape && !o->one_byte_space) put(r->out, SPACE, SPACE_BYTES, r->at);
    else put(r->out, (const uint8_t *)" ", 1, r->at);
}

/* Bytes that stand for what is read at the place, of which spaces are escaped, and dropped after a space. */
static int put_string(run *r, const uint8_t *string, size_t n) {
    const tk_sp_options *o = &r->z->options;
    size_t i = 0;
    if (!n) return TK_OK;
    int room = reserve(r->out, SPACE_BYTES * n);
    if (room != TK_OK) return room;
    while (r->after_space && i < n && string[i] == ' ') i++;
    if (i == n) return TK_OK;
    r->after_space = o->remove_extra && string[n - 1] == ' ';
    while (i < n) {
        if (string[i] == ' ') put_space(r), i++;
        else if (o->one_byte_space && n - i >= SPACE_BYTES && !memcmp(string + i, SPACE, SPACE_BYTES))
            put_space(r), i += SPACE_BYTES;
        else put(r->out, string + i++, 1, r->at);
    }
    return TK_OK;
}

/* ---- reading */

/* The bytes that are replaced at the place; *string and *n_string are what they become. */
TK_INLINE size_t find(const run *r, const uint8_t **string, size_t *n_string) {
    const tk_sp_normalizer *z = r->z;
    const uint8_t *p = r->text + r->at;
    size_t left = r->n - r->at, length = 0;
    if (TK_UNLIKELY(z->starts[p[0]])) {
        uint64_t node = z->symbols.root;
        for (size_t k = 0; k < left && (node = tk_trie_step(&z->symbols, node, p[k])); k++)
            if (tk_trie_id(node) != TK_NO_ID) length = k + 1;
    }
    *string = p;
    if (!length && z->has_map) {
        size_t place = tk_charsmap_find_longest(&z->map, p, left, &length);
        if (place != SIZE_MAX) {
            *string = z->map.strings + place;
            *n_string = strlen((const char *)*string);
            return length;
        }
    }
    if (!length) length = tk_utf8_length(p[0]);
    return *n_string = length;
}

static void copy(run *r, size_t n) {
    tk_sp_text *out = r->out;
    memcpy(out->text + out->n, r->text + r->at, n);
    for (size_t k = 0; out->aligns && k < n; k++) out->origin[out->n + k] = (uint32_t)(r->at + k);
    out->n += n;
    r->at += n;
}

/* Blocks of plain ASCII in which no two spaces meet, each space one byte. */
static int copy_blocks(run *r) {
    int room = reserve(r->out, r->n - r->at);
    if (room != TK_OK) return room;
    while (r->at + BLOCK < r->n) {
        const uint8_t *p = r->text + r->at;
        uint8_t other = 0, twice = 0;
        for (unsigned k = 0; k < BLOCK; k++) other |= (uint8_t)(p[k] - 0x20) > 0x7E - 0x20;
        for (unsigned k = 0; k < BLOCK; k++) twice |= (p[k] == ' ') & (p[k + 1] == ' ');
        if (other || p[BLOCK] >= 0x80) break;
        if (r->z->options.remove_extra) {
            if (twice || (r->after_space && p[0] == ' ')) break;
            r->after_space = p[BLOCK - 1] == ' ';
        }
        copy(r, BLOCK);
    }
    return TK_OK;
}

/* Plain ASCII from the place on, each word by eight bytes at a time. */
static int copy_words(run *r) {
    const tk_sp_normalizer *z = r->z;
    const uint8_t *text = r->text;
    for (;;) {
        int room = reserve(r->out, 8 + SPACE_BYTES);
        if (room != TK_OK) return room;
        if (z->all_plain && r->at + 9 <= r->n) {
            uint64_t x = tk_load64(text + r->at);
            uint64_t bad = (~((x | EACH(0x80)) - EACH(0x21)) | (x + EACH(1)) | x) & EACH(0x80);
            unsigned n = bad ? tk_lowest_bit(bad) / 8 : 8;
            if (text[r->at + n] >= 0x80 && n) n--; /* which may be one with what follows */
            if (n) {
                tk_sp_text *out = r->out;
                r->after_space = 0;
                memcpy(out->text + out->n, text + r->at, 8); /* what is too much is written over */
                for (unsigned k = 0; out->aligns && k < 8; k++) out->origin[out->n + k] = (uint32_t)(r->at + k);
                out->n += n;
                r->at += n;
                if (n == 8) continue;
            }
        }
        if (r->at >= r->n || text[r->at] >= 0x80 || !z->plain[text[r->at]]) return TK_OK;
        if (r->at + 1 < r->n && text[r->at + 1] >= 0x80) return TK_OK;
        if (text[r->at] != ' ') {
            r->after_space = 0;
            copy(r, 1);
            continue;
        }
        if (!r->after_space) put_space(r);
        r->after_space = z->options.remove_extra;
        r->at++;
    }
}

/* Characters of several bytes that begin nothing which is replaced. */
static int copy_characters(run *r) {
    const tk_sp_normalizer *z = r->z;
    const uint8_t *text = r->text;
    for (;;) {
        size_t end = r->at, most = r->n - r->at > 256 ? r->at + 256 : r->n;
        for (uint8_t c; end < most && (c = text[end]) >= 0x80 && !z->starts[c]; end += tk_utf8_length(c)) {
            if (z->options.one_byte_space && !memcmp(text + end, SPACE, 2) && text[end + 2] == SPACE[2]) break;
            if (!z->has_map) continue;
            size_t length, two = (size_t)(c & 31) << 6 | (text[end + 1] & 63);
            if (c < 0xE0 ? !z->mapped[two] : tk_charsmap_passes(&z->map, text + end)) continue;
            if (tk_charsmap_find_longest(&z->map, text + end, r->n - end, &length) != SIZE_MAX) break;
        }
        if (end == r->at) return TK_OK;
        int room = reserve(r->out, end - r->at);
        if (room != TK_OK) return room;
        r->after_space = 0;
        size_t first = r->out->n, n = end - r->at;
        copy(r, n);
        uint32_t *origin = r->out->aligns ? r->out->origin + first : NULL; /* there are none if nobody asks */
        for (size_t k = 1; origin && k < n; k++)
            if (tk_is_continuation(r->out->text[first + k])) origin[k] = origin[k - 1];
    }
}

static int normalize_rest(run *r) {
    const uint8_t *string;
    size_t n_string, length;
    int status = TK_OK, by_blocks = r->z->all_plain && (r->z->options.one_byte_space || !r->z->options.escape);
    while (r->at < r->n && status == TK_OK) {
        size_t before = r->at;
        if (r->text[r->at] < 0x80) {
            if (by_blocks) status = copy_blocks(r);
            if (status == TK_OK) status = copy_words(r);
        } else {
            status = copy_characters(r);
        }
        if (status != TK_OK || r->at != before) continue;
        length = find(r, &string, &n_string);
        status = put_string(r, string, n_string);
        r->at += length;
    }
    return status;
}

int tk_sp_normalize(const tk_sp_normalizer *z, const uint8_t *text, size_t n, tk_sp_text *out) {
    const tk_sp_options *o = &z->options;
    run r = {.z = z, .out = out, .text = text, .n = n};
    const uint8_t *string;
    size_t n_string, length;
    out->n = 0;
    if (out->aligns && n > UINT32_MAX - 1) return TK_TOO_LARGE;
    out->room = out->most && n > out->most / 32 ? 32 * n : out->most;
    int room = reserve(out, n + n / 4 + 2 * SPACE_BYTES);
    if (room != TK_OK) return room;
    while (o->remove_extra && r.at < n) {
        length = find(&r, &string, &n_string);
        if (n_string != 1 || string[0] != ' ') break;
        r.at += length;
    }
    size_t end = r.at;
    if (r.at < n) {
        if (o->add_prefix && !o->suffix) put_space(&r);
        r.after_space = o->remove_extra;
        int status = normalize_rest(&r);
        if (status == TK_OK) status = reserve(out, SPACE_BYTES);
        if (status != TK_OK) return status;
        end = n;
        size_t width = o->escape && !o->one_byte_space ? SPACE_BYTES : 1;
        const uint8_t *space = width == 1 ? (const uint8_t *)" " : SPACE;
        while (o->remove_extra && out->n >= width && !memcmp(out->text + out->n - width, space, width)) {
            out->n -= width;
            if (out->aligns) end = out->origin[out->n];
        }
        r.at = end;
        if (o->add_prefix && o->suffix) put_space(&r);
    }
    if (out->aligns) out->origin[out->n] = (uint32_t)end;
    memset(out->text + out->n, 0, TK_SP_SLACK);
    return TK_OK;
}
