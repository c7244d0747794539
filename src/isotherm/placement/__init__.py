"""Where blocks of rows live while a model is fitted, and the sweep over them."""
