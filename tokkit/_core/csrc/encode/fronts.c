/* The fronts that cut a text as it is: by a split pattern, or by a cut rule. See plan.h. */
#include "encode/plan.h"

int tk_front_split(const tk_front *front, tk_worker *w, tk_section *s, tk_units *units) {
    tk_split split = front->split;
    units->text = s->text, units->n = s->n, units->start = s->at, units->count = 0;
    if (s->at >= s->stop) return TK_OK;
    split.memo = &w->memo;
    units->count = tk_scan(&split, s->text, s->n, &s->at, units->ends, TK_CHUNK);
    return TK_OK;
}

int tk_front_rule(const tk_front *front, tk_worker *w, tk_section *s, tk_units *units) {
    (void)w;
    units->text = s->text, units->n = s->n, units->start = s->at, units->count = 0;
    if (s->at >= s->stop) return TK_OK;
    if (front->rule) {
        units->count = tk_cut_units(front->rule, s->text, s->n, &s->at, units->ends, TK_CHUNK);
    } else if (s->at < s->n) {
        units->ends[0] = s->at = s->n;
        units->count = 1;
    }
    return TK_OK;
}
