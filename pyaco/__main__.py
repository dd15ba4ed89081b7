"""``python -m pyaco``."""

import sys

from pyaco.cli.main import command

sys.exit(command())
