"""Version 2 of AMD's address library: GFX9 to GFX11.5."""
