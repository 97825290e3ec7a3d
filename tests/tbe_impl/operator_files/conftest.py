"""The operators of the tree import names that tbe_impl.compat provides; they are opened by the tests, not collected."""

collect_ignore = ["tree"]
