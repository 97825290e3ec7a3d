"""The operator tree imports tbe_impl.compat names; tests load it, pytest does not collect it."""

collect_ignore = ["tree"]
