"""Components, in Python, of the tokenizer classes that are Python code in transformers."""
