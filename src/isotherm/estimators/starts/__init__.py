"""Where the models of the estimators begin."""
