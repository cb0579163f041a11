"""XGBoost: documents (JSON, UBJSON), estimators and native boosters."""
