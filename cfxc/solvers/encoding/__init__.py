"""A query within a radius, as the exact engines need it: balls, formulae, cells and squares."""
