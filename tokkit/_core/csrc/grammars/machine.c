/* Makes the states of a grammar as texts reach them: see machine.h. */
#include "grammars/machine.h"

enum { FIRST_SLOTS = 256 };

static uint64_t thread_of(uint32_t node, uint32_t frame) { return (uint64_t)frame << 32 | node; }

static uint32_t *more_slots(uint32_t *slots, size_t *n) {
    size_t grown = *n ? *n * 2 : FIRST_SLOTS;
    uint32_t *made = tk_calloc(grown, sizeof *made);
    if (!made) return NULL;
    free(slots);
    *n = grown;
    return made;
}

/* ---- stacks */

static size_t frame_slot(const tk_machine *m, uint32_t node, uint32_t parent) {
    TK_ASSERT(m->n_frame_slots && !(m->n_frame_slots & (m->n_frame_slots - 1)) && parent < m->n_frames);
    size_t i = (size_t)tk_mix64(thread_of(node, parent)) & (m->n_frame_slots - 1);
    while (m->frame_slots[i]) {
        tk_frame frame = m->frames[m->frame_slots[i]];
        if (frame.node == node && frame.parent == parent) break;
        i = (i + 1) & (m->n_frame_slots - 1);
    }
    return i;
}

/* The stack with one more node, 0 if there is no memory for it. */
static uint32_t pushed(tk_machine *m, uint32_t node, uint32_t parent) {
    TK_ASSERT(node < m->network->n_nodes && m->n_frames && parent < m->n_frames);
    if (m->n_frames * 2 >= m->n_frame_slots) {
        uint32_t *slots = more_slots(m->frame_slots, &m->n_frame_slots);
        if (!slots) return 0;
        m->frame_slots = slots;
        for (size_t f = 1; f < m->n_frames; f++)
            slots[frame_slot(m, m->frames[f].node, m->frames[f].parent)] = (uint32_t)f;
    }
    size_t i = frame_slot(m, node, parent);
    if (m->frame_slots[i]) return m->frame_slots[i];
    if (m->n_frames >= UINT32_MAX || tk_reserve(&m->frames, &m->frames_capacity, m->n_frames + 1, sizeof *m->frames))
        return 0;
    m->frames[m->n_frames] = (tk_frame){node, parent};
    return m->frame_slots[i] = (uint32_t)m->n_frames++;
}

/* ---- the threads of a state */

static size_t found_slot(const tk_machine *m, uint64_t thread) {
    TK_ASSERT(m->n_found_slots && !(m->n_found_slots & (m->n_found_slots - 1)) && m->n_found < m->n_found_slots);
    size_t i = (size_t)tk_mix64(thread) & (m->n_found_slots - 1);
    while (m->found_slots[i] && m->found[m->found_slots[i] - 1] != thread) i = (i + 1) & (m->n_found_slots - 1);
    return i;
}

static void forget_found(tk_machine *m) {
    if (m->n_found * 8 > m->n_found_slots) {
        memset(m->found_slots, 0, m->n_found_slots * sizeof *m->found_slots);
    } else {
        /* From the last to the first: no slot that a later search passes through is emptied before it. */
        for (size_t k = m->n_found; k--;) m->found_slots[found_slot(m, m->found[k])] = 0;
    }
    m->n_found = 0;
}

static int found(tk_machine *m, uint64_t thread) {
    if (m->n_found * 2 >= m->n_found_slots) {
        uint32_t *slots = more_slots(m->found_slots, &m->n_found_slots);
        if (!slots) return TK_NO_MEMORY;
        m->found_slots = slots;
        for (size_t k = 0; k < m->n_found; k++) slots[found_slot(m, m->found[k])] = (uint32_t)k + 1;
    }
    size_t i = found_slot(m, thread);
    if (m->found_slots[i]) return TK_OK;
    if (m->n_found >= TK_MAX_THREADS) return TK_TOO_LARGE;
    if (tk_reserve(&m->found, &m->found_capacity, m->n_found + 1, sizeof *m->found)) return TK_NO_MEMORY;
    m->found[m->n_found++] = thread;
    m->found_slots[i] = (uint32_t)m->n_found;
    return TK_OK;
}

/* Add what the threads found lead to without a byte. */
static int close_found(tk_machine *m) {
    const tk_network *net = m->network;
    for (size_t k = 0; k < m->n_found; k++) {
        uint32_t node = (uint32_t)m->found[k], stack = (uint32_t)(m->found[k] >> 32), inner;
        int status = TK_OK;
        TK_ASSERT(node < net->n_nodes && stack < m->n_frames);
        if (net->ends[node] && stack)
            status = found(m, thread_of(m->frames[stack].node, m->frames[stack].parent));
        for (uint32_t j = net->first_jump[node]; !status && j < net->first_jump[node + 1]; j++) {
            if (net->entry[j] == TK_NO_RULE) {
                status = found(m, thread_of(net->resume[j], stack));
                continue;
            }
            /* A rule that is called last needs no frame of its own: it ends where its caller does. */
            inner = net->ends[net->resume[j]] ? stack : pushed(m, net->resume[j], stack);
            if (!inner && !net->ends[net->resume[j]]) return TK_NO_MEMORY;
            status = found(m, thread_of(net->entry[j], inner));
        }
        if (status) return status;
    }
    tk_work += m->n_found;
    return TK_OK;
}

static int by_value(const void *a, const void *b) {
    uint64_t x, y;
    memcpy(&x, a, 8);
    memcpy(&y, b, 8);
    return (x > y) - (x < y);
}

static void sort_threads(uint64_t *threads, size_t n) {
    if (n > 32) {
        qsort(threads, n, sizeof *threads, by_value);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        uint64_t thread = threads[i];
        size_t k = i;
        for (; k && threads[k - 1] > thread; k--) threads[k] = threads[k - 1];
        threads[k] = thread;
    }
}

static size_t state_slot(const tk_machine *m, const uint64_t *threads, size_t n) {
    TK_ASSERT(n && m->n_state_slots && !(m->n_state_slots & (m->n_state_slots - 1)));
    size_t i = (size_t)tk_hash_bytes((const uint8_t *)threads, n * sizeof *threads) & (m->n_state_slots - 1);
    while (m->state_slots[i]) {
        const tk_state *state = &m->states[m->state_slots[i]];
        if (state->n_threads == n && !memcmp(m->threads + state->first_thread, threads, n * sizeof *threads)) break;
        i = (i + 1) & (m->n_state_slots - 1);
    }
    return i;
}

/* Append a state; its threads are the last n of m->threads. */
static int append(tk_machine *m, size_t n, int accepts) {
    unsigned width = m->network->n_classes;
    TK_ASSERT(n <= m->n_threads && (n == 0) == (m->n_states == TK_DEAD));
    if (tk_reserve(&m->states, &m->states_capacity, m->n_states + 1, sizeof *m->states) ||
        tk_reserve(&m->next, &m->next_capacity, (m->n_states + 1) * width, sizeof *m->next))
        return TK_NO_MEMORY;
    m->states[m->n_states] = (tk_state){.first_thread = m->n_threads - n,
                                        .n_threads = (uint32_t)n,
                                        .accepts = (uint8_t)accepts,
                                        .any = {TK_ANY_UNKNOWN, TK_ANY_UNKNOWN}};
    uint32_t next = n || m->n_states ? TK_NOT_COMPUTED : TK_DEAD;
    for (unsigned c = 0; c < width; c++) m->next[m->n_states * width + c] = next;
    m->n_states++;
    return TK_OK;
}

/* The number of the state of n sorted threads, TK_NOT_COMPUTED if there is no memory for it. */
static uint32_t numbered(tk_machine *m, const uint64_t *threads, size_t n, int accepts) {
    if (!n) return TK_DEAD;
    for (size_t k = 1; k < n; k++) TK_ASSERT(threads[k - 1] < threads[k]);
    if (m->n_states * 2 >= m->n_state_slots) {
        uint32_t *slots = more_slots(m->state_slots, &m->n_state_slots);
        if (!slots) return TK_NOT_COMPUTED;
        m->state_slots = slots;
        for (size_t s = 1; s < m->n_states; s++)
            slots[state_slot(m, m->threads + m->states[s].first_thread, m->states[s].n_threads)] = (uint32_t)s;
    }
    size_t i = state_slot(m, threads, n);
    if (m->state_slots[i]) return m->state_slots[i];
    if (tk_reserve(&m->threads, &m->threads_capacity, m->n_threads + n, sizeof *threads)) return TK_NOT_COMPUTED;
    memcpy(m->threads + m->n_threads, threads, n * sizeof *threads);
    m->n_threads += n;
    if (append(m, n, accepts)) {
        m->n_threads -= n;
        return TK_NOT_COMPUTED;
    }
    return m->state_slots[i] = (uint32_t)(m->n_states - 1);
}

/* The state of the threads found, which are forgotten. */
static uint32_t settle(tk_machine *m, int status) {
    const tk_network *net = m->network;
    uint32_t state = TK_NOT_COMPUTED;
    if (!status) status = close_found(m);
    if (!status) {
        size_t kept = 0;
        int accepts = 0;
        /* Only nodes that take a byte, or end the text, tell states apart. */
        uint64_t *threads = tk_alloc(m->n_found, sizeof *threads);
        for (size_t k = 0; threads && k < m->n_found; k++) {
            uint32_t node = (uint32_t)m->found[k];
            int ends = net->ends[node] && !(m->found[k] >> 32);
            accepts |= ends;
            if (ends || net->first_edge[node] < net->first_edge[node + 1]) threads[kept++] = m->found[k];
        }
        if (threads) {
            sort_threads(threads, kept);
            state = numbered(m, threads, kept, accepts);
        }
        free(threads);
        status = TK_NO_MEMORY;
    }
    if (state == TK_NOT_COMPUTED) m->status = status;
    forget_found(m);
    return state;
}

uint32_t tk_machine_compute(tk_machine *m, uint32_t state, unsigned class_) {
    const tk_network *net = m->network;
    const uint8_t byte = net->example[class_];
    int status = TK_OK;
    TK_ASSERT(state < m->n_states && class_ < net->n_classes && !m->n_found);
    TK_ASSERT(m->next[(size_t)state * net->n_classes + class_] == TK_NOT_COMPUTED);
    if (tk_machine_bytes(m) > m->max_bytes) {
        m->status = TK_TOO_LARGE;
        return TK_NOT_COMPUTED;
    }
    for (size_t t = 0; !status && t < m->states[state].n_threads; t++) {
        uint64_t thread = m->threads[m->states[state].first_thread + t];
        uint32_t edge = net->first_edge[(uint32_t)thread], after = net->first_edge[(uint32_t)thread + 1];
        while (after - edge > 1) {
            uint32_t middle = edge + (after - edge) / 2;
            if (net->low[middle] <= byte) edge = middle;
            else after = middle;
        }
        if (edge < after && net->low[edge] <= byte && byte <= net->high[edge])
            status = found(m, (thread & ~(uint64_t)UINT32_MAX) | net->target[edge]);
    }
    uint32_t next = settle(m, status);
    if (next != TK_NOT_COMPUTED) m->next[(size_t)state * net->n_classes + class_] = next;
    return next;
}

/* ---- the machine */

/* Whether edges and jumps lead to nodes, the edges of a node rise, and classes are below their number. */
static inline int is_sound(const tk_network *net) {
    for (size_t node = 0; node < net->n_nodes; node++) {
        if (net->first_edge[node] > net->first_edge[node + 1] || net->first_jump[node] > net->first_jump[node + 1])
            return 0;
        for (uint32_t e = net->first_edge[node]; e < net->first_edge[node + 1]; e++)
            if (net->low[e] > net->high[e] || net->target[e] >= net->n_nodes ||
                (e > net->first_edge[node] && net->low[e] <= net->high[e - 1]))
                return 0;
        for (uint32_t j = net->first_jump[node]; j < net->first_jump[node + 1]; j++)
            if (net->resume[j] >= net->n_nodes || (net->entry[j] != TK_NO_RULE && net->entry[j] >= net->n_nodes))
                return 0;
    }
    for (unsigned byte = 0; byte < 256; byte++)
        if (net->class_of[byte] >= net->n_classes) return 0;
    for (unsigned k = 0; k < net->n_classes; k++)
        if (net->class_of[net->example[k]] != k) return 0;
    return net->start < net->n_nodes;
}

int tk_machine_init(tk_machine *m, const tk_network *network, size_t max_bytes) {
    TK_ASSERT(is_sound(network));
    memset(m, 0, sizeof *m);
    m->network = network;
    m->max_bytes = max_bytes;
    m->n_frames = 1; /* the empty stack */
    if (tk_reserve(&m->frames, &m->frames_capacity, 1, sizeof *m->frames) || append(m, 0, 0) ||
        tk_machine_init_kinds(m))
        return TK_NO_MEMORY;
    m->frames[0] = (tk_frame){0, 0};
    m->start = settle(m, found(m, thread_of(network->start, 0)));
    return m->start == TK_NOT_COMPUTED ? m->status : TK_OK;
}

void tk_token_set_free(tk_token_set *set) {
    free(set->bits);
    free(set->ids);
    memset(set, 0, sizeof *set);
}

void tk_machine_free(tk_machine *m) {
    for (size_t s = 0; s < m->n_states; s++) tk_token_set_free(&m->states[s].allowed);
    tk_token_set_free(&m->allowed_first);
    free(m->frames);
    free(m->states);
    free(m->threads);
    free(m->next);
    free(m->frame_slots);
    free(m->state_slots);
    free(m->found);
    free(m->found_slots);
    free(m->range_classes);
    for (int k = 0; k < 2; k++) free(m->merged[k]);
    memset(m, 0, sizeof *m);
}

size_t tk_machine_bytes(const tk_machine *m) {
    return m->set_bytes + m->n_frames * (sizeof *m->frames + 8) + m->n_threads * sizeof *m->threads +
           m->n_states * (sizeof *m->states + 8 + m->network->n_classes * sizeof *m->next);
}

/* Push in `made` the stacks that the old machine's live states have; `renumbered` says which is which. */
static int keep_frames(tk_machine *made, const tk_machine *old, const uint32_t *live, size_t n, uint32_t *renumbered) {
    for (size_t k = 0; k < n; k++) {
        TK_ASSERT(live[k] < old->n_states);
        const tk_state *state = &old->states[live[k]];
        for (size_t t = 0; t < state->n_threads; t++) renumbered[old->threads[state->first_thread + t] >> 32] = 1;
    }
    /* A frame comes after its parent. */
    for (size_t f = old->n_frames; --f > 0;)
        if (renumbered[f]) renumbered[old->frames[f].parent] = 1;
    renumbered[0] = 0;
    for (size_t f = 1; f < old->n_frames; f++) {
        if (!renumbered[f]) continue;
        TK_ASSERT(old->frames[f].parent < f);
        renumbered[f] = pushed(made, old->frames[f].node, renumbered[old->frames[f].parent]);
        if (!renumbered[f]) return TK_NO_MEMORY;
    }
    return TK_OK;
}

int tk_machine_keep(tk_machine *m, uint32_t *live, size_t n) {
    tk_machine made;
    uint32_t *renumbered = tk_calloc(m->n_frames, sizeof *renumbered), *numbers = tk_alloc(n, sizeof *numbers);
    int status = renumbered && numbers ? tk_machine_init(&made, m->network, m->max_bytes) : TK_NO_MEMORY;
    if (renumbered && numbers && !status) status = keep_frames(&made, m, live, n, renumbered);
    for (size_t k = 0; !status && k < n; k++) {
        tk_state state = m->states[live[k]];
        uint64_t *threads = tk_alloc(state.n_threads, sizeof *threads);
        if (!threads) {
            status = TK_NO_MEMORY;
            break;
        }
        for (size_t t = 0; t < state.n_threads; t++) {
            uint64_t thread = m->threads[state.first_thread + t];
            threads[t] = thread_of((uint32_t)thread, renumbered[thread >> 32]);
        }
        sort_threads(threads, state.n_threads);
        numbers[k] = numbered(&made, threads, state.n_threads, state.accepts);
        free(threads);
        if (numbers[k] == TK_NOT_COMPUTED) status = TK_NO_MEMORY;
    }
    if (!status) {
        memcpy(live, numbers, n * sizeof *numbers);
        memcpy(made.merged, m->merged, sizeof made.merged);
        memset(m->merged, 0, sizeof m->merged);
        tk_machine_free(m);
        *m = made;
    } else if (renumbered && numbers) {
        tk_machine_free(&made);
    }
    free(renumbered);
    free(numbers);
    return status;
}
