"""Descriptors: words of buffers, images, samplers, colour and depth targets, and back; layouts of sets and pipelines."""
