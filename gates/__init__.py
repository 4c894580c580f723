"""Ways in and out: each gate turns its protocol's bytes into the engine's nouns and back."""
