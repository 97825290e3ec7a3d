"""`python -m ms_fusion` is the program `ms-fusion`."""

from ms_fusion.cli import main

if __name__ == "__main__":
    main()
