"""``python -m pyaco``."""

import sys

from pyaco.cli import command

sys.exit(command())
