"""Text and its normalization: views of Python strings, charsmaps, indexes of tokens, pauses, how the core was built."""

include "text/text.pxi"
include "text/charsmap.pxi"
include "text/sp_normalize.pxi"
include "text/token_tables.pxi"
include "text/pauses.pxi"
include "text/documents.pxi"
include "text/build.pxi"
