"""Runs `ms-fusion` as `python -m ms_fusion`."""

from ms_fusion.cli.main import main

if __name__ == "__main__":
    main()
