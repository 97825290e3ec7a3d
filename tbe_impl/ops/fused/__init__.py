"""The operators of `custom_ops` as CANN lays them out, forward and backward, one file each; see `custom_ops.core.operator_spec.OpSpec.tbe`.

Inputs, outputs and attributes are those of the operator's record, which has the formula too. A device gets these files with
`words` and `building`, which are the only ones of this package that they import.
"""
