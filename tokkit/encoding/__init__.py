"""Results of a tokenizer: ids, offsets, words and masks, with truncation and padding.

Begin with encoding.py. alignment.py finds tokens by characters and words; length_rules.py has truncation and padding.
"""

from tokkit.encoding.encoding import Encoding as Encoding
from tokkit.encoding.encoding import restored as restored  # pickles of the first release look for it here
