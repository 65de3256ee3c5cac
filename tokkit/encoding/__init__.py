"""What a call of a tokenizer returns: ids, offsets, words and masks; and how encodings are cut and padded to lengths.

Begin with encoding.py. alignment.py finds tokens by characters and words; length_rules.py has truncation and padding.
"""

from tokkit.encoding.encoding import Encoding as Encoding
from tokkit.encoding.encoding import restored as restored  # by this name pickles of 0.1.0 ask for it
