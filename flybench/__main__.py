"""`python -m flybench`, for launchers such as torchrun that expect a module."""

import sys

from flybench.cli.main import main

sys.exit(main())
