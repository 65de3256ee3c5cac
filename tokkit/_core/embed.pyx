"""Training of static vectors, and their files."""

include "embed/sentences.pxi"
include "embed/negatives.pxi"
include "embed/vector_file.pxi"
include "embed/word2vec.pxi"
include "embed/cooccurrence.pxi"
include "embed/glove.pxi"
include "embed/sparse.pxi"
