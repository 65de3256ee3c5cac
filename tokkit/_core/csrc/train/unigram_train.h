/* Training a Unigram model from counted units.

   The first pieces are all substrings that occur at least twice, may be pieces, and could not be longer without
   occurring less often. The lattices of all units are then kept as lists of edges, which rounds of expectation
   maximisation run over. Expected counts are summed up as integers, so that the sum is the same for any order of the
   units and any number of threads. Source: Kudo, Subword Regularization (2018), section 3.2. */
#ifndef TK_UNIGRAM_TRAIN_H
#define TK_UNIGRAM_TRAIN_H
#include "train/piece_rules.h"
#include "train/suffix_sort.h"
#include "train/word_cells.h"

enum { TK_LONGEST_PIECE = 1024 }; /* in characters */
_Static_assert(TK_LONGEST_PIECE <= UINT16_MAX, "widths have 16 bits");

/* Arrays that grow with the text: they may be mapped. */
enum { TK_U_SYMBOLS, TK_U_STARTS, TK_U_COUNTS, TK_U_FIRST, TK_U_EDGES, TK_U_LENGTHS, TK_U_BIG };

/* All zero is empty. Symbols are the characters of the units, numbered from 1 in the order of their code points. */
typedef struct {
    uint32_t *codes; /* code point of symbol i + 1 */
    size_t n_codes;
    const char *folder; /* where `big` is mapped, NULL for the heap; it outlives the trainer */
    tk_big_block big[TK_U_BIG];
    tk_symbol_text text; /* the units, each closed by a 0 */
    uint32_t *starts;    /* of the units in the text, and the text's end */
    int64_t *counts;     /* of the units */
    size_t n_units, longest;
    uint32_t *first;   /* edges that start at a symbol: from first[i] to first[i + 1], the shorter first */
    uint32_t *edges;   /* the piece of each edge */
    uint16_t *lengths; /* and its symbols */
    size_t n_edges;
    uint32_t *at;     /* of each piece: a place where it stands in the text */
    uint16_t *widths; /* its symbols; pieces of one symbol come first, in the symbols' order */
    int64_t *occurrences;
    double *probabilities, *logs;
    size_t n_pieces;
    int scale, log_scale; /* sums are in units of 2^-scale */
} tk_unigram_trainer;

/* What units gave, in units of 2^-log_scale; those that no segmentation has are not in it. */
typedef struct {
    int64_t log_likelihood;
    int64_t n_failed;
} tk_unigram_sums;

void tk_unigram_trainer_free(tk_unigram_trainer *t);

/* Lay out the units (UTF-8); pieces have at most `depth` symbols, TK_LONGEST_PIECE or less. TK_TOO_LARGE beyond 2^32
   symbols, TK_NO_DISK where the folder has no room. */
int tk_unigram_trainer_units(tk_unigram_trainer *t, const tk_word_counts *units, uint32_t depth);

/* Make pieces of all symbols, and of substrings by their count · symbols: the best `most`, of equals the shorter, then
   the lesser. Probabilities are to be set. TK_TOO_LARGE beyond 2^32 edges.

   Where `kinds` is NULL, as tokenizers does it: each unit counts once, and a substring shorter than `depth` is a piece
   where two symbols, or a symbol and an end, follow it; of equals the greater is better. */
int tk_unigram_trainer_seeds(tk_unigram_trainer *t, const tk_piece_kinds *kinds, size_t most);

/* Set a probability for each piece. */
void tk_unigram_trainer_set(tk_unigram_trainer *t, const double *probabilities);

/* Leave out the pieces that `kept` has a 0 of, with their edges; the others are numbered anew, in their order. */
int tk_unigram_trainer_keep(tk_unigram_trainer *t, const uint8_t *kept);

/* Add what the units from `from` to `after` expect of each piece; many threads may do so at once. */
int tk_unigram_trainer_expect(const tk_unigram_trainer *t, size_t from, size_t after, int64_t *expected,
                              tk_unigram_sums *sums);

/* How much log-likelihood is lost, about, where a piece is left out, for the pieces from `from` to `after`: each time
   it is expected, the best other segmentation of it stands there instead, and each token more costs `token_cost`.
   Infinity where there is none. `total` is the sum of `expected`. With `keep_divided`, it is infinity as well where
   the other segmentation is better than the piece. */
typedef struct {
    const double *expected;
    double total, token_cost;
    int keep_divided;
} tk_unigram_loss;

int tk_unigram_trainer_losses(const tk_unigram_trainer *t, size_t from, size_t after, tk_unigram_loss by,
                              double *losses);

/* Add how often the best segmentations of the units from `from` to `after` have each piece. Of equals it is that whose
   last piece is the longest. Many threads may do so at once. */
int tk_unigram_trainer_best(const tk_unigram_trainer *t, size_t from, size_t after, int64_t *counts);

/* ---- for unigram_seeds.c and unigram_state.c: room for units, pieces and edges whose number is set ---- */

int tk_unigram_text_room(tk_unigram_trainer *t);
int tk_unigram_piece_room(tk_unigram_trainer *t, size_t n);
int tk_unigram_first_room(tk_unigram_trainer *t);
int tk_unigram_edge_room(tk_unigram_trainer *t);

/* Set `longest`, and the scales of sums, by the units. */
void tk_unigram_set_scales(tk_unigram_trainer *t);

/* ---- the state, from which rounds go on with equal results ---- */

enum { TK_UNIGRAM_SIZES = 6, TK_UNIGRAM_ARRAYS = 11 };
void tk_unigram_state_sizes(const tk_unigram_trainer *t, uint64_t *sizes);
void tk_unigram_state_arrays(const tk_unigram_trainer *t, tk_state_array *arrays);

/* Make the arrays of these sizes in an empty trainer: TK_OK or an error. */
int tk_unigram_state_begin(tk_unigram_trainer *t, const uint64_t *sizes);

/* Check that what was filled in fits together: TK_OK, or TK_BAD_INPUT for what no training is. */
int tk_unigram_state_end(tk_unigram_trainer *t);

#endif
