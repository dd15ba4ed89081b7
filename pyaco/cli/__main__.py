"""``python -m pyaco.cli``."""

import sys

from pyaco.cli.main import main

sys.exit(main())
