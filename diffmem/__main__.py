"""`python -m diffmem`: the command line."""

import sys

from diffmem.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
