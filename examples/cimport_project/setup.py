"""Builds the one kernel. Everything else of the project stands in pyproject.toml."""

from Cython.Build import cythonize
from setuptools import Extension, setup

import pyaco

FOLDERS = [pyaco.get_include()]
KERNEL = Extension("shader_facts.kernels", ["src/shader_facts/kernels.pyx"], include_dirs=FOLDERS, language="c++", extra_compile_args=["-std=c++17"])

setup(ext_modules=cythonize([KERNEL], include_path=FOLDERS, language_level=3))
