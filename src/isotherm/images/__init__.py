"""Images: texture features, segmentation, and the files that pictures come from and go to."""
