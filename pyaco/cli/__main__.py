"""``python -m pyaco.cli``."""

import sys

from pyaco.cli import command

sys.exit(command())
