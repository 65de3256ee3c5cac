"""Text in, spans out: the split patterns of the field as data, and the engines that run them."""
