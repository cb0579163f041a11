"""Emitters: formulae and programs in other people's languages."""
