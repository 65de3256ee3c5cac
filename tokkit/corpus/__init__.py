"""Files, stdin and iterators in, blocks of documents out, in constant memory."""
