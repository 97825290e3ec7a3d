"""Guards against slowdowns: times another commit and the working tree, interleaved."""
