"""`make bench`: every claim of the README as a line, ours beside all others, interleaved in one run; losses as plainly as wins."""
