/* Runs a grammar byte by byte. A state is all that is possible at a position: a set of threads, each a node and a stack
   of the nodes where its unfinished rules continue. States and stacks are numbered when they first occur, so that equal
   ones have one number; the next state for a class of bytes is computed once, and then looked up. */
#ifndef TK_MACHINE_H
#define TK_MACHINE_H
#include "grammars/network.h"

enum { TK_DEAD = 0 }; /* the state in which nothing is possible */
#define TK_NOT_COMPUTED UINT32_MAX
#define TK_ANY_UNKNOWN 254 /* not computed yet */
#define TK_ANY_NUMBER 255
#define TK_ANY_MAX 16      /* how many characters are tried, if it is not any number */

/* Kinds of characters: plain are all but '"', '\\' and those below the space; letters are those of ASCII. */
enum { TK_PLAIN, TK_LETTERS, TK_KINDS };
enum { TK_KIND_RANGES = 31 }; /* ranges of bytes that characters of both kinds are made of: see kinds.c */
#define TK_MAX_THREADS 65536
_Static_assert(TK_ANY_MAX < TK_ANY_UNKNOWN && TK_ANY_UNKNOWN < TK_ANY_NUMBER && TK_ANY_NUMBER <= UINT8_MAX, "bytes");

typedef struct {
    uint32_t node, parent; /* parent: another frame, 0 is the empty stack */
} tk_frame;

/* The tokens that a state allows: `bits`, or where they are few, `ids`. */
typedef struct {
    uint8_t *bits;
    uint32_t *ids;
    size_t n_ids;
} tk_token_set;

typedef struct {
    size_t first_thread;
    uint32_t n_threads;
    uint8_t accepts; /* the text may end here */
    uint8_t any[TK_KINDS]; /* how many characters of a kind may follow whichever they are, or one of TK_ANY_… */
    tk_token_set allowed;
} tk_state;

struct tk_sorted_trie;

typedef struct {
    const tk_network *network;
    tk_frame *frames;
    size_t n_frames, frames_capacity;
    tk_state *states;
    size_t n_states, states_capacity;
    uint64_t *threads; /* of all states, sorted in each: frame << 32 | node */
    size_t n_threads, threads_capacity;
    uint32_t *next; /* [n_states][n_classes]: state, or TK_NOT_COMPUTED */
    size_t next_capacity;
    uint32_t *frame_slots, *state_slots; /* open addressing; 0 is free */
    size_t n_frame_slots, n_state_slots;
    uint64_t *found; /* threads of the state that is being computed */
    size_t n_found, found_capacity;
    uint32_t *found_slots; /* 1 + place in found */
    size_t n_found_slots;
    uint32_t start;
    uint8_t *range_classes; /* the classes of bytes in each range of kinds.c, one after the other */
    size_t first_class[TK_KIND_RANGES + 1];
    tk_token_set allowed_first; /* at the start of a text, if tokens decode otherwise there */
    size_t set_bytes;           /* that sets of tokens have */
    struct tk_sorted_trie *merged[2]; /* of tokens that are not plain, and those at the start: see token_masks.h */
    size_t max_bytes;
    int status; /* why a state is TK_NOT_COMPUTED: TK_NO_MEMORY, or TK_TOO_LARGE */
} tk_machine;

/* TK_OK, TK_NO_MEMORY, or TK_TOO_LARGE. The network must live as long as the machine. */
int tk_machine_init(tk_machine *machine, const tk_network *network, size_t max_bytes);
void tk_machine_free(tk_machine *machine);

/* How many bytes the machine holds. */
size_t tk_machine_bytes(const tk_machine *machine);

/* Discard all states but n live ones, whose numbers change. The machine is unchanged if it fails. */
int tk_machine_keep(tk_machine *machine, uint32_t *live, size_t n);

/* The state after a byte of a class, which is not known yet; TK_NOT_COMPUTED where machine->status says why. */
uint32_t tk_machine_compute(tk_machine *machine, uint32_t state, unsigned class_);

TK_INLINE uint32_t tk_machine_step(tk_machine *machine, uint32_t state, uint8_t byte) {
    unsigned class_ = machine->network->class_of[byte];
    TK_ASSERT(state < machine->n_states);
    uint32_t next = machine->next[(size_t)state * machine->network->n_classes + class_];
    return TK_LIKELY(next != TK_NOT_COMPUTED) ? next : tk_machine_compute(machine, state, class_);
}

/* How many characters of a kind may follow a state, whichever they are: up to TK_ANY_MAX, or TK_ANY_NUMBER;
   TK_ANY_UNKNOWN where machine->status says why. */
unsigned tk_machine_any(tk_machine *machine, uint32_t state, unsigned kind);

/* Fill range_classes; TK_OK or TK_NO_MEMORY. */
int tk_machine_init_kinds(tk_machine *machine);

void tk_token_set_free(tk_token_set *set);

#endif
