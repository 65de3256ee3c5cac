/* The common split patterns as hand-written scanners. */
#ifndef TK_SCAN_H
#define TK_SCAN_H
#include "split/safe_cuts.h"

/* The scanners, one for each family of split/families.def. */
enum {
    TK_SCAN_WHOLE,
#define TK_FAMILY(id, name, pattern, ...) TK_SCAN_##id,
#include "split/families.def"
    TK_SCAN_FAMILIES
};

struct tk_dfa;
struct tk_dfa_memo;

/* How text is cut: by the scanner of a family, or where dfa is not NULL by the automaton of a compiled pattern.
   With `cuts` (else NULL), a scanner may also end a pretoken at a safe cut inside a run of letters, so that its parts
   are looked up and merged on their own; the ids are the same. */
typedef struct {
    int family;
    const tk_cuts *cuts;
    const struct tk_dfa *dfa;
    struct tk_dfa_memo *memo; /* of the one text that is being scanned; NULL does too (dfa.h) */
} tk_split;

/* Ends that a caller should have room for: with fewer, the scalar scanners run. */
enum { TK_SCAN_LIMIT = 64 };

/* Set in an end: the span that ends there is no pretoken. No match covers it, and the tokenizer drops such text. */
#define TK_DROPPED ((size_t)1 << (8 * sizeof(size_t) - 1))

/* Write the ends of the pretokens that follow *pos, at most `limit` of them, and move *pos after the last.
   Returns how many; 0 only at the end of the text. The end of the text is the end of the slice that the
   pattern sees ($ and look-ahead end there). A text is scanned from 0 on.
   No pretoken is empty; pretokens and dropped spans cover the text.
   Scanners of families drop nothing. */
size_t tk_scan(const tk_split *split, const uint8_t *text, size_t n, size_t *pos, size_t *ends, size_t limit);

/* The same by the scanners of one ISA, which the machine must support: so that tests can compare them. */
size_t tk_scan_by(int isa, const tk_split *split, const uint8_t *text, size_t n, size_t *pos, size_t *ends,
                  size_t limit);

/* The category number of a code point (unicode_tables.h), for tests of the tables. */
unsigned tk_category(uint32_t code_point);

/* Is its script Han? */
int tk_is_han(uint32_t code_point);

#endif
