"""Text → ids. Begin with plan.pyx; bpe, staged and sp_engine make plans of tokenizers, batch and blocks run them."""
