"""``python -m pyaco.cli``."""

import sys

from pyaco.cli.main import command

sys.exit(command())
