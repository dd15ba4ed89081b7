"""``python -m pyaco``."""

import sys

from pyaco.cli.main import main

sys.exit(main())
