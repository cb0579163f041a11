"""Exact engines, and how a question is put to them."""
