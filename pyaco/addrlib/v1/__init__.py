"""Version 1 of AMD's address library: GFX6, 7 and 8. Modules ``v2_*`` beside this folder are GFX9 to GFX11.5, ``v3_*`` GFX12."""
