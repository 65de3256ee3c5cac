/* Ranks the pauses of a text: see pauses.h. tests/reference/pauses.py is the naive twin. */
#include "text/pauses.h"

#include "text/utf8.h"

enum {
    REACH = 128,  /* bytes of white space that are looked at on each side: of a million, each place would see all */
    CLOSERS = 4,  /* closing quotes and brackets that may follow the end of a sentence */
    DEEPEST = 15, /* columns of indentation that are told apart */
    TAB = 4,      /* columns; a file indents by tabs or by spaces, so that their number hardly matters */
    SHORTEST_FENCE = 3,
    LARGEST_HEADING = 6,
    MAX_INDENT = 3 /* of a fence or heading in Markdown: more is a block of code */
};

/* Bytes of the white space at p, as str.isspace has it; 0 for none. Continuation bytes are none. */
TK_INLINE unsigned white_at(const uint8_t *p) {
    if (TK_LIKELY(*p < 0x80)) return *p == ' ' || (*p >= '\t' && *p <= '\r') || (*p >= 0x1C && *p <= 0x1F);
    if (*p == 0xC2) return p[1] == 0x85 || p[1] == 0xA0 ? 2 : 0;
    if (*p == 0xE1) return p[1] == 0x9A && p[2] == 0x80 ? 3 : 0;
    if (*p == 0xE3) return p[1] == 0x80 && p[2] == 0x80 ? 3 : 0;
    if (*p != 0xE2) return 0;
    if (p[1] == 0x80) return p[2] <= 0x8A || p[2] == 0xA8 || p[2] == 0xA9 || p[2] == 0xAF ? 3 : 0;
    return p[1] == 0x81 && p[2] == 0x9F ? 3 : 0;
}

static const uint8_t *character_before(const uint8_t *p) {
    do p--;
    while (tk_is_continuation(*p));
    return p;
}

TK_INLINE size_t white_from(const uint8_t *text, size_t at, size_t limit) {
    unsigned length;
    while (at < limit && (length = white_at(text + at)) != 0) at += length;
    return at;
}

TK_INLINE size_t white_until(const uint8_t *text, size_t at, size_t limit) {
    while (at > limit) {
        const uint8_t *before = character_before(text + at);
        if (!white_at(before)) break;
        at = (size_t)(before - text);
    }
    return at;
}

static int closes(uint32_t c) {
    switch (c) {
    case '"': case '\'': case ')': case ']': case '}': case 0xBB: case 0x2019: case 0x201D: case 0x300D: case 0x300F:
    case 0x300B: case 0x3011: case 0xFF09: return 1;
    default: return 0;
    }
}

/* 2: ends a sentence also without white space after it. */
static int ends_sentence(uint32_t c) {
    switch (c) {
    case '.': case '!': case '?': case ';': case ':': case 0x2026: case 0x61B: case 0x61F: case 0x6D4: case 0x964:
        return 1;
    case 0x3002: case 0xFF01: case 0xFF1F: case 0xFF1B: return 2;
    default: return 0;
    }
}

static int is_sentence_end(const uint8_t *text, size_t left, size_t right, size_t n) {
    const uint8_t *p = text + left;
    unsigned length;
    uint32_t c = 0;
    for (int i = 0; i <= CLOSERS; i++) {
        if (p == text) return 0;
        p = character_before(p);
        c = tk_utf8_decode(p, &length);
        if (!closes(c)) break;
    }
    int ends = ends_sentence(c);
    if (left < right || ends < 2) return ends && left < right;
    if (right == n) return 1;
    c = tk_utf8_decode(text + right, &length);
    return !closes(c) && !ends_sentence(c);
}

/* The line ends in the white space from `left` to `right`: how many there are, 2 at most, and where the last ends. */
TK_INLINE int line_ends(const uint8_t *text, size_t left, size_t right, size_t *line) {
    int n = 0;
    for (size_t i = right; i > left && n < 2; i--)
        if (text[i - 1] == '\n' && !n++) *line = i;
    return n;
}

static size_t run_of(const uint8_t *text, size_t at, size_t n, uint8_t c) {
    size_t end = at;
    while (end < n && text[end] == c) end++;
    return end - at;
}

static int heading_level(const uint8_t *text, size_t at, size_t n) {
    size_t level = run_of(text, at, n, '#');
    if (level == 0 || level > LARGEST_HEADING) return 0;
    return at + level == n || white_at(text + at + level) ? (int)level : 0;
}

static uint8_t rank_in_code(const uint8_t *text, size_t line, size_t right, size_t n, int lines) {
    size_t columns = 0;
    for (size_t i = line; i < right && columns < DEEPEST; i++) columns += text[i] == '\t' ? TAB : 1;
    /* What closes a block belongs to it. */
    if (columns > DEEPEST || (right < n && (text[right] == '}' || text[right] == ')' || text[right] == ']')))
        columns = DEEPEST;
    TK_ASSERT(line <= right && right <= n && lines > 0);
    return (uint8_t)(TK_CODE_LINE + 2 * (DEEPEST - columns) + (lines > 1));
}

/* The first byte of a letter of most CJK scripts, which are no pause, alone or beside one another. */
TK_INLINE int is_wide_letter(uint8_t lead) { return lead >= 0xE4 && lead <= 0xED; }

static uint8_t rank_of(const uint8_t *text, size_t n, size_t place, int at) {
    TK_ASSERT(place <= n && (place == n || !tk_is_continuation(text[place])));
    if (place > 2 && is_wide_letter(text[place - 3]) && tk_is_continuation(text[place - 1]) &&
        is_wide_letter(text[place]))
        return TK_WITHIN; /* most places of such a text, told at once */
    size_t lower = place > REACH ? place - REACH : 0, upper = n - place > REACH ? place + REACH : n;
    size_t left = white_until(text, place, lower), right = white_from(text, place, upper), line = 0;
    int lines = left < right ? line_ends(text, left, right, &line) : 0;
    if (at == TK_AT_CODE && lines) return rank_in_code(text, line, right, n, lines);
    if (at == TK_AT_CODE || at == TK_AT_WORD) return left < right ? TK_BETWEEN : TK_WITHIN;
    if (lines && at == TK_AT_SENTENCE) return TK_SENTENCE;
    if (lines) {
        int level = at == TK_AT_MARKDOWN && right - line <= MAX_INDENT ? heading_level(text, right, n) : 0;
        if (level) return (uint8_t)(TK_HEADING + LARGEST_HEADING - level);
        return lines > 1 ? TK_PARAGRAPH : TK_LINE;
    }
    if (is_sentence_end(text, left, right, n)) return TK_SENTENCE;
    return left < right ? TK_BETWEEN : TK_WITHIN;
}

/* Read one line of Markdown from `at` on: does a fence open or close there? *from gets where its characters begin;
   returns where they end, or 0. */
static size_t fence_line(const uint8_t *text, size_t at, size_t end, tk_fence *fence, size_t *from) {
    size_t start = at;
    while (start < end && start - at <= MAX_INDENT && text[start] == ' ') start++;
    if (start == end || start - at > MAX_INDENT || (text[start] != '`' && text[start] != '~')) return 0;
    uint8_t c = text[start];
    size_t length = run_of(text, start, end, c), rest = start + length;
    if (length < SHORTEST_FENCE) return 0;
    *from = start;
    if (fence->length) {
        if (c != fence->character || length < fence->length || white_from(text, rest, end) < end) return 0;
        fence->length = 0;
        return rest;
    }
    if (c == '`' && memchr(text + rest, '`', end - rest)) return 0; /* code within a line */
    fence->character = c, fence->length = length;
    return rest;
}

static size_t line_after(const uint8_t *text, size_t at, size_t n) {
    const uint8_t *end = at < n ? memchr(text + at, '\n', n - at) : NULL;
    return end ? (size_t)(end - text) + 1 : n;
}

/* Find the next block of code from the line at *at on: [*open, *close); *at becomes the line after it. */
static void next_fence(const uint8_t *text, size_t n, tk_fence *fence, size_t *at, size_t *open, size_t *close) {
    size_t from = 0, found;
    TK_ASSERT(*at <= n && (!fence->length || fence->length >= SHORTEST_FENCE));
    int inside = fence->length != 0;
    *open = inside ? 0 : n, *close = n;
    while (*at < n) {
        size_t line = *at, end = line_after(text, line, n);
        *at = end;
        if (!(found = fence_line(text, line, end, fence, &from))) continue;
        if (inside) {
            *close = found;
            return;
        }
        *open = from, inside = 1;
    }
}

void tk_rank_pauses(const uint8_t *text, size_t n, const int64_t *spans, size_t n_tokens, int at, tk_fence *fence,
                    int continues, uint8_t *ranks) {
    TK_ASSERT((text || !n) && at >= 0 && at < TK_AT_KINDS && (fence || at != TK_AT_MARKDOWN));
    size_t line = continues ? line_after(text, 0, n) : 0, open = n, close = n;
    if (at == TK_AT_MARKDOWN) next_fence(text, n, fence, &line, &open, &close);
    for (size_t i = 1; i < n_tokens; i++) {
        size_t place = (size_t)spans[2 * i];
        TK_ASSERT(spans[2 * i] >= spans[2 * i - 2] && place <= n);
        if (spans[2 * i] < spans[2 * i - 1] || (place < n && tk_is_continuation(text[place]))) {
            ranks[i] = TK_NO_PAUSE;
            continue;
        }
        ranks[i] = rank_of(text, n, place, at);
        if (at != TK_AT_MARKDOWN) continue;
        while (place >= close && close < n) next_fence(text, n, fence, &line, &open, &close);
        if (place <= open || place >= close) ranks[i] += TK_OUTSIDE;
    }
    while (at == TK_AT_MARKDOWN && line < n) next_fence(text, n, fence, &line, &open, &close);
}

void tk_trim(const uint8_t *text, size_t *start, size_t *end, int indented) {
    TK_ASSERT(*start <= *end);
    size_t right = white_from(text, *start, *end), left = *start, line = right;
    *end = white_until(text, *end, right);
    if (indented && right < *end) {
        left = white_until(text, left, left > REACH ? left - REACH : 0);
        if (left == 0) line = 0;
        line_ends(text, left, right, &line);
    }
    *start = line;
    TK_ASSERT(*start <= *end);
}
