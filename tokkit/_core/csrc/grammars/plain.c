/* How far any text without quotes, backslashes and control characters may go on from a state: see machine.h. */
#include "grammars/machine.h"

enum { SET = 48 };

typedef struct {
    uint32_t states[SET];
    size_t n;
} small_set;

enum { ADDED, FULL, DIES, FAILED };

static int has(const small_set *set, uint32_t state) {
    for (size_t k = 0; k < set->n; k++)
        if (set->states[k] == state) return 1;
    return 0;
}

/* Add to `to` the states that bytes low..high lead to from each of `from`. */
static int step_all(tk_machine *m, const small_set *from, unsigned low, unsigned high, small_set *to) {
    for (size_t k = 0; k < from->n; k++) {
        int before = -1;
        for (unsigned byte = low; byte <= high; byte++) {
            int class_ = m->network->class_of[byte];
            if (class_ == before) continue;
            before = class_;
            uint32_t next = tk_machine_step(m, from->states[k], (uint8_t)byte);
            if (next == TK_UNKNOWN) return FAILED;
            if (next == TK_DEAD) return DIES;
            if (has(to, next)) continue;
            if (to->n == SET) return FULL;
            to->states[to->n++] = next;
        }
    }
    return ADDED;
}

/* The well-formed bytes of characters (Unicode, table 3-7), those of plain characters in ASCII. */
static const uint8_t SEQUENCES[][8] = {
    {0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x7F}, {0xC2, 0xDF, 0x80, 0xBF}, {0xE0, 0xE0, 0xA0, 0xBF, 0x80, 0xBF},
    {0xE1, 0xEC, 0x80, 0xBF, 0x80, 0xBF}, {0xED, 0xED, 0x80, 0x9F, 0x80, 0xBF}, {0xEE, 0xEF, 0x80, 0xBF, 0x80, 0xBF},
    {0xF0, 0xF0, 0x90, 0xBF, 0x80, 0xBF, 0x80, 0xBF}, {0xF1, 0xF3, 0x80, 0xBF, 0x80, 0xBF, 0x80, 0xBF},
    {0xF4, 0xF4, 0x80, 0x8F, 0x80, 0xBF, 0x80, 0xBF},
};

/* The states after one more plain character, whichever it is. */
static int step_character(tk_machine *m, const small_set *from, small_set *to) {
    to->n = 0;
    for (size_t s = 0; s < sizeof SEQUENCES / sizeof *SEQUENCES; s++) {
        const uint8_t *range = SEQUENCES[s];
        small_set parts[2], *last = (small_set *)from;
        int status = ADDED;
        for (size_t k = 0; k < 8 && range[k] && !status; k += 2) {
            int ends = k == 6 || !range[k + 2];
            small_set *into = ends ? to : &parts[k / 2 & 1];
            if (!ends) into->n = 0;
            status = step_all(m, last, range[k], range[k + 1], into);
            last = into;
        }
        if (status) return status;
    }
    return ADDED;
}

unsigned tk_machine_plain(tk_machine *m, uint32_t state) {
    if (m->states[state].plain != TK_PLAIN_UNKNOWN) return m->states[state].plain;
    small_set level = {.states = {state}, .n = 1}, seen = level, next;
    unsigned n = 0;
    for (; n < TK_PLAIN_MAX; n++) {
        int status = step_character(m, &level, &next);
        if (status == FAILED) return TK_PLAIN_UNKNOWN;
        if (status != ADDED) break;
        int closed = 1;
        for (size_t k = 0; k < next.n; k++) {
            if (has(&seen, next.states[k])) continue;
            closed = 0;
            if (seen.n < SET) seen.states[seen.n++] = next.states[k];
        }
        if (closed) {
            n = TK_PLAIN_ALL;
            break;
        }
        level = next;
    }
    return m->states[state].plain = (uint8_t)n;
}
