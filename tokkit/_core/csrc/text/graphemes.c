/* Finding the ends of grapheme clusters: see graphemes.h. The rules have the numbers of the annex. */
#define TK_GRAPHEME_TABLES_HERE
#include "text/graphemes.h"

#include "text/grapheme_tables.h"

_Static_assert(sizeof tk_cluster_index == 0x110000 / TK_CLUSTER_BLOCK, "an entry for each block");

#define KIND(name) (1u << TK_CLUSTER_##name)

TK_INLINE unsigned cluster_class(uint32_t c) {
    return tk_cluster_block[(size_t)tk_cluster_index[c / TK_CLUSTER_BLOCK] * TK_CLUSTER_BLOCK + c % TK_CLUSTER_BLOCK];
}

/* What has been read of a cluster: as much of it as rules look back for. */
typedef struct {
    unsigned kind;       /* of the last character, as a bit */
    unsigned regionals;  /* that it ends with */
    unsigned picture;    /* 1: a pictograph and extenders, 2: and a joiner after them (GB11) */
    unsigned consonant;  /* 1: a consonant and extenders, 2: a linker among them (GB9c) */
} cluster;

static void take(cluster *s, uint32_t c, unsigned class) {
    unsigned kind = 1u << (class & TK_CLUSTER_KIND);
    s->kind = kind;
    s->regionals = kind & KIND(REGIONAL) ? s->regionals + 1 : 0;
    if (class & TK_CLUSTER_PICTOGRAPHIC) s->picture = 1;
    else if (!(s->picture == 1 && kind & (KIND(EXTEND) | KIND(ZWJ)))) s->picture = 0;
    else if (kind & KIND(ZWJ)) s->picture = 2;
    if (class & TK_CLUSTER_CONSONANT) s->consonant = 1;
    else if (!s->consonant || !(kind & (KIND(EXTEND) | KIND(ZWJ))) || c == 0x200C) s->consonant = 0;
    else if (class & TK_CLUSTER_LINKER) s->consonant = 2;
}

static int goes_on(const cluster *s, unsigned class) {
    const unsigned breaks = KIND(CR) | KIND(LF) | KIND(CONTROL);
    unsigned next = 1u << (class & TK_CLUSTER_KIND);
    if (s->kind & KIND(CR) && next & KIND(LF)) return 1;                               /* GB3 */
    if ((s->kind | next) & breaks) return 0;                                           /* GB4, GB5 */
    if (next & (KIND(EXTEND) | KIND(ZWJ) | KIND(SPACING)) || s->kind & KIND(PREPEND)) return 1; /* GB9, 9a, 9b */
    if (s->kind & KIND(L)) return (next & (KIND(L) | KIND(V) | KIND(LV) | KIND(LVT))) != 0; /* GB6 */
    if (s->kind & (KIND(LV) | KIND(V))) return (next & (KIND(V) | KIND(T))) != 0;      /* GB7 */
    if (s->kind & (KIND(LVT) | KIND(T))) return (next & KIND(T)) != 0;                 /* GB8 */
    if (class & TK_CLUSTER_CONSONANT && s->consonant == 2) return 1;                   /* GB9c */
    if (class & TK_CLUSTER_PICTOGRAPHIC && s->picture == 2) return 1;                  /* GB11 */
    return next & KIND(REGIONAL) && s->regionals & 1;                                  /* GB12, GB13 */
}

size_t tk_cluster_end(const uint8_t *text, size_t at, size_t end) {
    TK_ASSERT(at < end && !tk_is_continuation(text[at]));
    cluster s = {0};
    unsigned length;
    uint32_t c = tk_utf8_decode(text + at, &length);
    unsigned class = cluster_class(c);
    at += length;
    if (at >= end) return end;
    uint32_t next = tk_utf8_decode(text + at, &length);
    unsigned next_class = cluster_class(next);
    const unsigned never_on = KIND(OTHER) | KIND(CONTROL) | KIND(L) | KIND(LV) | KIND(LVT);
    const unsigned may_on = KIND(CR) | KIND(PREPEND) | KIND(L);
    if (!(1u << (class & TK_CLUSTER_KIND) & may_on) && 1u << (next_class & TK_CLUSTER_KIND) & never_on) return at;
    take(&s, c, class);
    while (goes_on(&s, next_class)) {
        take(&s, next, next_class);
        at += length;
        if (at >= end) return end;
        next = tk_utf8_decode(text + at, &length);
        next_class = cluster_class(next);
    }
    return at;
}
