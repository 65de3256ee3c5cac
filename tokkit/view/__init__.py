"""A tokenizer and text in, pictures of its tokens out."""
