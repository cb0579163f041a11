"""A page to play with: one model, one question at a time, answered with its proof."""
