"""Answers: a question put to an engine, its result, many at once, and why there is none."""
