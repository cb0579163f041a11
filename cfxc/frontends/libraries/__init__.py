"""Estimators of further libraries, a module each, which is imported once its library is."""
