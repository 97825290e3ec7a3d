"""`tvm` and `topi`: the tensor language below the DSL operations, as operators import it."""
