"""What the commands `ms-fusion tbe` do with an operator: build, run, check, show, time.

In: texts of the command line. Out: frozen records that `ms_fusion` prints. It prints nothing.
"""
