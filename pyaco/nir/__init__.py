"""NIR: text, passes, interpreter, and a builder."""
