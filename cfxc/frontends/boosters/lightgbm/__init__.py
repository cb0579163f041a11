"""LightGBM: the text of models, estimators and native boosters."""
