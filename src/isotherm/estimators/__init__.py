"""scikit-learn estimators: thin shells around model, engine and data."""
