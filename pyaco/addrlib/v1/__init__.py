"""Version 1 of AMD's address library: GFX6, 7 and 8."""
