"""The operators of `custom_ops` as CANN operator files, forward and backward, one file each.

Inputs, outputs and attributes are those of the operator's record, which also has the formula
(`custom_ops.core.operator_spec.OpSpec.tbe`). A device receives these files together with `words`
and `building`, the only modules of this package that they import.
"""
