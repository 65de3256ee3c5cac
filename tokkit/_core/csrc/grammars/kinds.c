/* Finds how many characters of a class may follow a state, whatever they are: see machine.h. */
#include "grammars/machine.h"

enum { SET = 48 };

typedef struct {
    uint32_t states[SET];
    size_t n;
} small_set;

enum { ADDED, FULL, DIES, FAILED };

/* The bytes of characters: up to four ranges, as many as a character has bytes. Those of plain characters, by the
   well-formed sequences of Unicode (table 3-7), and then those of letters. */
enum { PLAIN_SEQUENCES = 11, SEQUENCES = 13 };
static const struct {
    uint8_t n, ranges[8];
} sequences[SEQUENCES] = {
    {1, {0x20, 0x21}},
    {1, {0x23, 0x5B}},
    {1, {0x5D, 0x7F}},
    {2, {0xC2, 0xDF, 0x80, 0xBF}},
    {3, {0xE0, 0xE0, 0xA0, 0xBF, 0x80, 0xBF}},
    {3, {0xE1, 0xEC, 0x80, 0xBF, 0x80, 0xBF}},
    {3, {0xED, 0xED, 0x80, 0x9F, 0x80, 0xBF}},
    {3, {0xEE, 0xEF, 0x80, 0xBF, 0x80, 0xBF}},
    {4, {0xF0, 0xF0, 0x90, 0xBF, 0x80, 0xBF, 0x80, 0xBF}},
    {4, {0xF1, 0xF3, 0x80, 0xBF, 0x80, 0xBF, 0x80, 0xBF}},
    {4, {0xF4, 0xF4, 0x80, 0x8F, 0x80, 0xBF, 0x80, 0xBF}},
    {1, {'A', 'Z'}},
    {1, {'a', 'z'}},
};

int tk_machine_init_kinds(tk_machine *m) {
    size_t n = 0, range = 0;
    m->range_classes = tk_alloc(TK_KIND_RANGES * (size_t)256, 1);
    if (!m->range_classes) return TK_NO_MEMORY;
    for (size_t s = 0; s < SEQUENCES; s++) {
        for (size_t k = 0; k < sequences[s].n; k++) {
            uint8_t seen[256] = {0};
            m->first_class[range++] = n;
            for (unsigned byte = sequences[s].ranges[2 * k]; byte <= sequences[s].ranges[2 * k + 1]; byte++) {
                uint8_t class_ = m->network->class_of[byte];
                TK_ASSERT(n < TK_KIND_RANGES * (size_t)256 && range <= TK_KIND_RANGES);
                if (!seen[class_]) m->range_classes[n++] = class_;
                seen[class_] = 1;
            }
        }
    }
    TK_ASSERT(range == TK_KIND_RANGES);
    m->first_class[range] = n;
    return TK_OK;
}

static int has(const small_set *set, uint32_t state) {
    for (size_t k = 0; k < set->n; k++)
        if (set->states[k] == state) return 1;
    return 0;
}

/* Add to `to` the states that the bytes of a range lead to from each of `from`. */
static int step_all(tk_machine *m, const small_set *from, size_t range, small_set *to) {
    for (size_t k = 0; k < from->n; k++) {
        for (size_t c = m->first_class[range]; c < m->first_class[range + 1]; c++) {
            unsigned class_ = m->range_classes[c];
            uint32_t next = m->next[(size_t)from->states[k] * m->network->n_classes + class_];
            if (next == TK_NOT_COMPUTED) next = tk_machine_compute(m, from->states[k], class_);
            if (next == TK_NOT_COMPUTED) return FAILED;
            if (next == TK_DEAD) return DIES;
            if (has(to, next)) continue;
            if (to->n == SET) return FULL;
            TK_ASSERT(to->n < SET && next < m->n_states);
            to->states[to->n++] = next;
        }
    }
    return ADDED;
}

/* The states after one more character of a kind, whichever it is. */
static int step_character(tk_machine *m, const small_set *from, unsigned kind, small_set *to) {
    size_t range = kind == TK_PLAIN ? 0 : TK_KIND_RANGES - 2;
    to->n = 0;
    for (size_t s = kind == TK_PLAIN ? 0 : PLAIN_SEQUENCES; s < (kind == TK_PLAIN ? PLAIN_SEQUENCES : SEQUENCES); s++) {
        small_set parts[2];
        const small_set *last = from;
        for (size_t k = 0; k < sequences[s].n; k++) {
            small_set *into = k + 1 == sequences[s].n ? to : &parts[k & 1];
            if (into != to) into->n = 0;
            int status = step_all(m, last, range++, into);
            if (status) return status;
            last = into;
        }
    }
    return ADDED;
}

unsigned tk_machine_any(tk_machine *m, uint32_t state, unsigned kind) {
    TK_ASSERT(state < m->n_states && kind < TK_KINDS);
    if (m->states[state].any[kind] != TK_ANY_UNKNOWN) return m->states[state].any[kind];
    small_set level = {.states = {state}, .n = 1}, seen = level, next;
    unsigned n = 0;
    for (; n < TK_ANY_MAX; n++) {
        int status = step_character(m, &level, kind, &next);
        if (status == FAILED) return TK_ANY_UNKNOWN;
        if (status != ADDED) break;
        int closed = 1;
        for (size_t k = 0; k < next.n; k++) {
            if (has(&seen, next.states[k])) continue;
            closed = 0;
            if (seen.n < SET) seen.states[seen.n++] = next.states[k];
        }
        if (closed) {
            n = TK_ANY_NUMBER;
            break;
        }
        level = next;
    }
    return m->states[state].any[kind] = (uint8_t)n;
}
