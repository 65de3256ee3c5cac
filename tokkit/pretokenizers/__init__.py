"""Pretokenizers: the published split patterns as data, and the engines that run them."""
