"""Lists the instructions of ``emit_insn`` and the memories that a stage may use."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tbe_impl.soc import Soc

_VECTOR_INSTRUCTIONS = {
    "vector_abs": "vabs",
    "vector_add": "vadd",
    "vector_addrelu": "vaddrelu",
    "vector_adds": "vadds",
    "vector_and": "vand",
    "vector_axpy": "vaxpy",
    "vector_div": "vdiv",
    "vector_eq": "vcmpv_eq",
    "vector_exp": "vexp",
    "vector_ge": "vcmpv_ge",
    "vector_gt": "vcmpv_gt",
    "vector_le": "vcmpv_le",
    "vector_ln": "vln",
    "vector_lrelu": "vlrelu",
    "vector_lt": "vcmpv_lt",
    "vector_madd": "vmadd",
    "vector_maddrelu": "vmaddrelu",
    "vector_max": "vmax",
    "vector_maxs": "vmaxs",
    "vector_min": "vmin",
    "vector_mins": "vmins",
    "vector_mla": "vmla",
    "vector_mul": "vmul",
    "vector_muls": "vmuls",
    "vector_ne": "vcmpv_ne",
    "vector_not": "vnot",
    "vector_or": "vor",
    "vector_rec": "vrec",
    "vector_relu": "vrelu",
    "vector_rsqrt": "vrsqrt",
    "vector_sqrt": "vsqrt",
    "vector_sub": "vsub",
    "vector_subrelu": "vsubrelu",
}
"""Name of a vector instruction in ``emit_insn`` → its name in the dtype tables of the chips."""

_COMPOSITE_INSTRUCTIONS = """
5hdc_reduce_max 5hdc_reduce_min 5hdc_reduce_sum arg_reduce_last_axis_argmax
arg_reduce_last_axis_argmin arg_reduce_nlst_axis_argmax arg_reduce_nlst_axis_argmin
binary_reduce_output_reversed bn_reduce_sum broadcast broadcast_for_tensor
broadcast_for_tensor_opt broadcast_for_tensor_opt_mid_le32 broadcast_with_transpose cache_buffer
conv_vector_bias_add conv_vector_remove_pad data_mov depthwise_conv dichotomy_reduce_block_mean
dma_copy dma_copy_for_non_32_align dma_copy_for_roi_multi_core dma_copy_matmul_transpose
dma_copy_res_for_batch_core dma_copy_softmax_cewl dma_padding elewise_binary_phony_ex
elewise_binary_sub_scalar_L1 elewise_get_L1_workspace elewise_single_VS_add_with_reg
elewise_single_VS_adds_with_reg elewise_single_VS_mul_with_reg
elewise_single_VS_mul_with_reg_in_quant elewise_single_VS_mul_with_reg_sqrt_in_quant
elewise_single_cast_s322fp16 elewise_single_diagonal fixpipe_op group_gm_to_ub im2col im2col_v2
img2col inplace_add inplace_sub inplace_update last_axis_reduce_max last_axis_reduce_sum_reuse
layout_transform mad mov_backup nd2nz nz2nd padding_end phony_insn pooling2d_avg_mul_factor
pooling2d_global_process pooling2d_process psalign_break_invalid_roi psalign_construct_seq
psalign_dma_copy_invalid_roi psalign_four_2_five psalign_roi_cmplt_sel psalign_roi_pooling_reg_mov
psalign_roi_transform_vadd psalign_roi_transform_vtrans psalign_roi_valid
psalign_xypos_scale_with_reg reduce_2_3_axis_reduce_mean_cast_4D_optimal
reduce_2_3_axis_reduce_sum_cast_4D_optimal reduce_2_3_axis_reduce_sum_optimal
reduce_last_axis_enhance_reduce_max reduce_last_axis_enhance_reduce_min
reduce_last_axis_enhance_reduce_sum reduce_last_axis_reduce_max reduce_last_axis_reduce_max_2
reduce_last_axis_reduce_min reduce_last_axis_reduce_prod reduce_last_axis_reduce_sum
reduce_last_axis_reduce_sum_2 reduce_nlst_axis_reduce_max reduce_nlst_axis_reduce_min
reduce_nlst_axis_reduce_prod reduce_nlst_axis_reduce_sum reg_add reg_mov reg_mov_single scalar_op
segment_max segment_mean segment_min segment_prod segment_sum set_2d set_fmatrix set_padding_ex
split_select unified_broadcast unknown_broadcast unzip vdup_align vector_add_with_broadcast
vector_add_with_broadcast_enhance vector_add_with_broadcast_non_32align vector_auto
vector_broadcast vector_broadcast_transpose vector_cmpsel vector_complex vector_conv
vector_conv_ceil vector_conv_floor vector_conv_rint vector_conv_round vector_conv_trunc
vector_dichotomy_add vector_dichotomy_add_for_bn_reduce vector_dichotomy_reduce
vector_div_with_broadcast vector_div_with_broadcast_enhance vector_div_with_broadcast_non_32align
vector_divs vector_dup vector_fp_ceiling vector_gather vector_gcd vector_linear_sequence
vector_max_with_broadcast vector_max_with_broadcast_enhance vector_min_with_broadcast
vector_min_with_broadcast_enhance vector_mul_with_broadcast vector_mul_with_broadcast_enhance
vector_mul_with_broadcast_non_32align vector_multiple vector_power vector_real vector_reduce_all
vector_reduce_any vector_reduce_max vector_reduce_max_softmax_fractalz vector_reduce_min
vector_reduce_min_softmax_fractalz vector_reduce_prod vector_reduce_sum
vector_reduce_sum_last_axis_opt vector_reduce_sum_softmax_fractalz
vector_reduce_sum_softmax_fractalz_vcadd vector_select_bool vector_select_eq vector_select_ge
vector_select_gt vector_select_le vector_select_lt vector_select_ne vector_selects_bool
vector_sigmoid vector_sign_bit vector_sub_with_broadcast vector_sub_with_broadcast_enhance
vector_sub_with_broadcast_non_32align vector_tanh vector_tconv_trunc vector_transpose
vector_tuple_reduce_sum_for_bn_update_grad vector_vcmp vector_vsel vector_vsel_dummy vnchwconv
vscsplit wino_l0a_v2 wino_l0b_v2 winograd_conv write_select
"""
"""Other names that ``emit_insn`` accepts: copies, casts, reductions and matrix operations.

Some of these names, such as ``vector_auto``, leave the choice of the instruction to the compiler.
Each name expands to several device instructions, so no single dtype table applies.
"""

_TAGS = {
    "elewise_binary_add": "vector_add",
    "elewise_binary_sub": "vector_sub",
    "elewise_binary_mul": "vector_mul",
    "elewise_binary_div": "vector_div",
    "elewise_binary_max": "vector_max",
    "elewise_binary_min": "vector_min",
    "elewise_binary_and": "vector_and",
    "elewise_binary_or": "vector_or",
    "elewise_binary_mod": "scalar_op",
    "elewise_binary_addrelu": "vector_addrelu",
    "elewise_binary_subrelu": "vector_subrelu",
    "elewise_binary_scalar_axpy": "vector_axpy",
    "elewise_binary_phony": "phony_insn",
    "elewise_binary_cmp": "vector_auto",
    "elewise_binary_cmpsel": "vector_cmpsel",
    "elewise_binary_logic": "vector_auto",
    "elewise_binary_vcmpv_eq": "vector_eq",
    "elewise_binary_vcmpv_ne": "vector_ne",
    "elewise_binary_vcmpv_lt": "vector_lt",
    "elewise_binary_vcmpv_le": "vector_le",
    "elewise_binary_vcmpv_gt": "vector_gt",
    "elewise_binary_vcmpv_ge": "vector_ge",
    "elewise_binary_cmpsel_eq": "vector_select_eq",
    "elewise_binary_cmpsel_ne": "vector_select_ne",
    "elewise_binary_cmpsel_lt": "vector_select_lt",
    "elewise_binary_cmpsel_le": "vector_select_le",
    "elewise_binary_cmpsel_gt": "vector_select_gt",
    "elewise_binary_cmpsel_ge": "vector_select_ge",
    "elewise_single_VS_add": "vector_adds",
    "elewise_single_VS_mul": "vector_muls",
    "elewise_single_VS_max": "vector_maxs",
    "elewise_single_VS_min": "vector_mins",
    "elewise_single_abs": "vector_abs",
    "elewise_single_cast": "vector_conv",
    "elewise_single_ceil": "vector_conv_ceil",
    "elewise_single_exp": "vector_exp",
    "elewise_single_floor": "vector_conv_floor",
    "elewise_single_log": "vector_ln",
    "elewise_single_lrelu": "vector_lrelu",
    "elewise_single_not": "vector_not",
    "elewise_single_rec": "vector_rec",
    "elewise_single_relu": "vector_relu",
    "elewise_single_round": "vector_conv_rint",
    "elewise_single_round_d": "vector_conv_round",
    "elewise_single_rsqrt": "vector_rsqrt",
    "elewise_single_sqrt": "vector_sqrt",
    "elewise_single_trunc": "vector_conv_trunc",
    "elewise_multiple_madd": "vector_madd",
    "elewise_multiple_maddrelu": "vector_maddrelu",
    "elewise_multiple_mla": "vector_mla",
    "elewise_multiple_sel": "vector_select_bool",
    "elewise_empty_intrin": "phony_insn",
    "broadcast_for_tensor": "vector_broadcast",
    "unified_broadcast": "vector_broadcast",
    "broadcast": "vector_dup",
    "reduce_sum": "vector_reduce_sum",
    "reduce_max": "vector_reduce_max",
    "reduce_min": "vector_reduce_min",
    "reduce_prod": "vector_reduce_prod",
    "tuple_reduce_sum": "vector_reduce_sum",
    "set_value": "vector_dup",
    "transpose": "vector_transpose",
    "dma_copy": "dma_copy",
}

DEVICE_INSTRUCTION: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(_COMPOSITE_INSTRUCTIONS.split(), ""),
        **{tag: _VECTOR_INSTRUCTIONS.get(name, "") for tag, name in _TAGS.items()},
        **_VECTOR_INSTRUCTIONS,
    }
)
"""Name that ``emit_insn`` accepts → the device instruction whose dtype table applies.

The value is an empty string if no dtype table applies. The names also include the tags of stages.
"""


def instruction_of_tag(tag: str) -> str:
    """Returns the instruction for a stage with this tag, or ``vector_auto`` for an unknown tag."""
    return _TAGS.get(tag.partition("|")[0], "vector_auto")


CAPACITY = {
    "local.UB": "unified_buffer_bytes",
    "local.L1": "l1_bytes",
    "local.L0A": "l0a_bytes",
    "local.L0B": "l0b_bytes",
    "local.L0C": "l0c_bytes",
}
"""Scope of a memory → the name of the attribute of `Soc` with the memory's size in bytes."""

SCOPES = frozenset(
    "global local local.UB local.L1 local.L0A local.L0B local.L0C local.BT local.FB local.FB0 "
    "local.FB1 local.FB2 local.FB3 local.L1_Fusion local.UB_Fusion local.REG local.AREG "
    "local.PREG local.UREG local.VREG local.WREG local.SMASK local_aicpu".split()
)
"""Scopes of all memories that a stage may use."""


def capacity(chip: Soc, scope: str) -> int:
    """Returns the size of a memory of one core in bytes, or 0 if it is unlimited or unknown."""
    attribute = CAPACITY.get(scope.replace("_Fusion", ""))
    return 0 if attribute is None else int(getattr(chip, attribute))
