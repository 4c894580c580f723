"""The overlay: how the nodes that serve a stream find each other, and how its items walk among them."""
