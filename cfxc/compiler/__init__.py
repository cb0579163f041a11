"""From programs to what engines read: passes, terms, formulae, bounds, emitters."""
