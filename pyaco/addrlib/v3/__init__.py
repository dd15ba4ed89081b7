"""Version 3 of AMD's address library: GFX12. What it has in common with version 2 is taken from there."""
