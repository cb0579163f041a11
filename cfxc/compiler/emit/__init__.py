"""Emitters: formulae and programs in other languages."""
