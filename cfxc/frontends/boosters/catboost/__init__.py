"""CatBoost: JSON and binary files read here, estimators lowered once the library is imported."""
