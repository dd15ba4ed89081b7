"""Surfaces as Mesa's drivers lay them out (ac_surface), and DRM format modifiers: the layer that stands on the versions of addrlib."""
