"""Every setting with its default, and the example applications."""
