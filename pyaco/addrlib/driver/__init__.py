"""Surfaces as Mesa's drivers lay them out (ac_surface), and DRM format modifiers: the layer above the versions of addrlib."""
