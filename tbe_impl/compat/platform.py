"""Answers queries of operators about the current chip, and defines the constants of the queries."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any

from tbe_impl.compat.operator_errors import fault
from tbe_impl.compat.session import current_soc, session
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.soc import find_soc, is_operation_supported

SCOPES = {
    "scope_gm": "global",
    "scope_ubuf": "local.UB",
    "scope_cbuf": "local.L1",
    "scope_ca": "local.L0A",
    "scope_cb": "local.L0B",
    "scope_cc": "local.L0C",
    "scope_reg": "local.REG",
    "scope_vreg": "local.VREG",
    "scope_preg": "local.PREG",
    "scope_areg": "local.AREG",
    "scope_ureg": "local.UREG",
    "scope_wreg": "local.WREG",
    "scope_aicpu": "local_aicpu",
    "scope_cbuf_fusion": "local.L1_Fusion",
    "scope_ubuf_fusion": "local.UB_Fusion",
    "scope_smask": "local.SMASK",
    "scope_fb": "local.FB",
    "scope_fb0": "local.FB0",
    "scope_fb1": "local.FB1",
    "scope_fb2": "local.FB2",
    "scope_fb3": "local.FB3",
    "scope_bt": "local.BT",
    "dma_copy": "dma_copy",
    "dma_copy_global": "global",
}
"""Maps the name of a memory scope's constant to its value."""

_CHIPS = {
    "ASCEND_310": "Ascend310",
    "ASCEND_310B": "Ascend310B",
    "ASCEND_310P": "Ascend310P",
    "ASCEND_710": "Ascend310P",
    "ASCEND_610": "Ascend610",
    "ASCEND_610B": "Ascend610B",
    "ASCEND_610LITE": "Ascend610Lite",
    "ASCEND_615": "Ascend615",
    "ASCEND_910": "Ascend910",
    "ASCEND_910A": "Ascend910",
    "ASCEND_910B": "Ascend910B",
    "ASCEND_910H": "Ascend910B",
    "ASCEND_910M": "Ascend910A",
    "ASCEND_910P": "Ascend910ProA",
    "ASCEND_910_93": "Ascend910_93",
    "ASCEND_910_95": "Ascend910_95",
    "ASCEND_920A": "Ascend920A",
    "ASCEND_SD": "SD3403",
    "SD3403": "SD3403",
    "HI3796CV300ES": "Hi3796CV300ES",
    "HI3796CV300CS": "Hi3796CV300CS",
    "BS9SX1A": "BS9SX1A",
    "BS9SX2A": "BS9SX2A",
    "MC61AM21A": "MC61AM21A",
    "AS31XM1": "AS31XM1",
    "ASCEND_031": "Ascend031",
    "ASCEND_035": "Ascend035",
}

_KEYS = (
    "SOC_VERSION FULL_SOC_VERSION SHORT_SOC_VERSION AICORE_TYPE CORE_NUM UB_SIZE L2_SIZE L1_SIZE "
    "CUBE_SIZE L0A_SIZE L0B_SIZE L0C_SIZE SMASK_SIZE UNZIP VREG_SIZE AREG_SIZE PREG_SIZE "
    "UREG_SIZE WREG_SIZE CUBE_VECTOR_SPLIT FB_SIZE FB0_SIZE FB1_SIZE FB2_SIZE FB3_SIZE BT_SIZE "
    "VECTOR_CORE_CNT CUBE_CORE_CNT MAX_CORE_NUM CORE_TYPE_LIST"
).split()

INSTRUCTIONS = {
    **{
        name: f"vector_{name.lower()}"
        for name in (
            "EXP RELU REC ABS SQRT RSQRT NOT DUP MUL ADD SUB DIV MAX MIN LRELU EQ NE GE LE GT LT "
            "AND OR ADDRELU SUBRELU SHR SHR_ROUND SHL MADD MADDRELU MLA AXPY REDUCE_INIT "
            "REDUCE_SUM REDUCE_MIN REDUCE_MAX REDUCE_ARGMIN REDUCE_ARGMAX REDUCE SELECT_EQ "
            "SELECT_NE SELECT_GT SELECT_GE SELECT_LT SELECT_LE AUTO LN"
        ).split()
    },
    **{f"{name}VS": f"vector_{name.lower()}s" for name in "ADD MAX MIN EQ NE GE LE GT LT".split()},
    "MULVS": "vector_muls",
    "MULCONV": "vector_mul_conv",
    "ADDRELUCONV": "vector_addrelu_conv",
    "SUBRELUCONV": "vector_subrelu_conv",
    "SELECT": "vector_select_bool",
    "SELECTVS": "vector_selects_bool",
    **{
        f"{short}CAST{way and '_' + way}": f"vector_{short.lower()}conv{way and '_' + way.lower()}"
        for short in ("", "T")
        for way in ("", "VDEQ", "RINT", "ROUND", "FLOOR", "CEIL", "TRUNC", "ROUNDING")
    },
    **{
        name: name.lower()
        for name in (
            "PHONY_INSN IM2COL SET_FMATRIX MAD DEPTHWISE_CONV DMA_COPY DMA_PADDING DATA_MOV "
            "SCALAR SCALAR_SQRT VSCSPLIT"
        ).split()
    },
}
"""Maps the name of an instruction's constant to the instruction's name in schedules."""

CUBE_MKN = {
    dtype: {"mac": list(mac)}
    for dtype, mac in {
        "int4": (16, 64, 16),
        "uint8": (16, 32, 16),
        "int8": (16, 32, 16),
        "float16": (16, 16, 16),
        "bfloat16": (16, 16, 16),
        "float32": (16, 8, 16),
        "int16": (16, 16, 16),
        "uint16": (16, 16, 16),
        "int32": (16, 16, 16),
        "uint32": (16, 16, 16),
        "int64": (16, 16, 16),
        "uint64": (16, 16, 16),
        "bool": (16, 32, 16),
    }.items()
}
"""Maps a dtype to the cube unit's tile: rows (m), reduction size (k) and columns (n)."""

_NUMBERS = {
    "VECTOR_INST_BLOCK_WIDTH": 256,
    "VECTOR_INST_BLOCK_NUM": 8,
    "VECTOR_INST_MAX_REPEAT_TIMES": 255,
    "WGT_WIDTH": 16,
    "INP_WIDTH": 16,
    "OUT_WIDTH": 16,
    "BLOCK_IN": 16,
    "BLOCK_OUT": 16,
    "BLOCK_REDUCE": 16,
    "BLOCK_REDUCE_INT8": 32,
    "BLOCK_REDUCE_INT4": 64,
    "BLOCK_REDUCE_FP32": 8,
    "BLOCK_VECTOR": 1,
    "INP_ELEM_BYTES": 512,
    "WGT_ELEM_BYTES": 512,
    "OUT_ELEM_BYTES": 512,
    "GLB_ELEM_BYTES": 32,
    "C0_SIZE": 16,
    "ELEMENTS_VECTOR_OP_FP16": 128,
    "DEFAULT_MUL_VALUE": 1,
    "DEFAULT_ADD_VALUE": 0,
    "VECTOR_COPY_NBURST_LIMIT": 4096,
    "VECTOR_SINGLE_BLOCK_WIDTH_FP16": 16,
    "GEMM_MODE": 0,
    "GEVM_MODE": 1,
    "CONV_MODE": 2,
    "ALIGNMENT_BYTES": 32,
}

_UNLIMITED_BYTES = 256 * 1024
"""Size of the unified buffer of the chip ``cpu``, in bytes; operators derive tile sizes from it."""


def get_soc_spec(key: str) -> Any:
    """Returns a property of the current chip, such as ``SHORT_SOC_VERSION`` or ``UB_SIZE``."""
    chip = current_soc()
    as_chip = find_soc("Ascend910A") if chip.is_unlimited else chip
    answers: dict[str, Any] = {
        "SOC_VERSION": as_chip.short_name,
        "SHORT_SOC_VERSION": as_chip.short_name,
        "FULL_SOC_VERSION": as_chip.name,
        "AICORE_TYPE": "AiCore",
        "CORE_NUM": as_chip.cores,
        "MAX_CORE_NUM": as_chip.cores,
        "CUBE_CORE_CNT": as_chip.cores,
        "VECTOR_CORE_CNT": as_chip.vector_cores,
        "UB_SIZE": as_chip.unified_buffer_bytes or _UNLIMITED_BYTES,
        "L2_SIZE": as_chip.l2_bytes,
        "L1_SIZE": as_chip.l1_bytes,
        "L0A_SIZE": as_chip.l0a_bytes,
        "L0B_SIZE": as_chip.l0b_bytes,
        "L0C_SIZE": as_chip.l0c_bytes,
        "SMASK_SIZE": 0,
        "CUBE_SIZE": [16, 16, 16],
        "UNZIP": [0, 0, 0, 0],
        "CUBE_VECTOR_SPLIT": int(as_chip.short_name == "Ascend910B"),
        **{"cube_m_size": 16, "cube_n_size": 16, "cube_k_size": 32},
        "Compiler_arch": "dav",
        "ubblock_size": as_chip.block_bytes,
        "CORE_TYPE_LIST": ["CubeCore", "VectorCore"],
        **dict.fromkeys("FB_SIZE FB0_SIZE FB1_SIZE FB2_SIZE FB3_SIZE BT_SIZE".split(), 0),
        **dict.fromkeys("VREG_SIZE AREG_SIZE PREG_SIZE UREG_SIZE WREG_SIZE".split(), 0),
        "cube_vector_combine": "fuse",
        "vector_reg_width": 0,
        "L0A_LAYOUT_IS_zN": False,
        "intrinsic_fix_pipe_l0c2out": False,
        # "1": image windows have to consist of whole rows
        "load3d_constraints": "0" if as_chip.short_name == "Ascend910B" else "1",
    }
    if key not in answers:
        raise fault("E90003", f"unknown key of get_soc_spec: {key!r}", detailed_cause=str(key))
    return answers[key]


def get_product_spec(key: str) -> Any:
    """Older name of `get_soc_spec`."""
    return get_soc_spec(key)


def set_current_compile_soc_info(soc_version: str, *_: Any, **__: Any) -> str:
    """Sets the current chip for platform queries; returns the string ``success``."""
    session().soc = find_soc(soc_version)
    return "success"


def api_check_support(intrinsic: str, dtype: str = "") -> bool:
    """Whether the current chip supports an operation, such as ``te.lang.cce.vexp``, for a dtype."""
    for value in (intrinsic, dtype):
        if not isinstance(value, str):
            raise fault("E90001", f"api_check_support takes texts, not {type(value).__name__}")
    family, _, word = intrinsic.rpartition(".")
    if family in ("te.lang.cce", "tbe.dsl"):
        return is_operation_supported(current_soc(), word, dtype)
    if family == "tik":
        return (
            dtype in current_soc().instructions.get(word, frozenset())
            if dtype
            else word in current_soc().instructions
        )
    return False


def intrinsic_check_support(intrinsic: str, dtype: str = "") -> bool:
    """Whether the current chip has an instruction for a dtype.

    With an empty `dtype`, the function returns whether the chip has the instruction for any dtype.
    For ``Intrinsic_vconv``, `dtype` is the name of a conversion, such as ``f322s32z``.
    """
    chip = current_soc()
    name = intrinsic.removeprefix("Intrinsic_")
    if name == "vconv":
        return chip.is_unlimited or not dtype or dtype in chip.conversions
    table = (find_soc("Ascend910B1") if chip.is_unlimited else chip).instructions
    if name not in table:
        return False
    return chip.is_unlimited or not dtype or dtype in table[name]


def get_bit_len(dtype: str) -> int:
    """Returns the number of bits of an element; a bool has 8 bits.

    >>> get_bit_len("float16"), get_bit_len("uint1")
    (16, 1)
    """
    text = dtype.lower()
    if text in ("uint1", "int1"):
        return 1
    if text == "int4":
        return 4
    if text in ("complex32", "complex64", "complex128"):
        return int(text[7:])
    return dtype_of(text).bytes * 8


def get_align_factor(dtype: str) -> tuple[int, int]:
    """Returns the number of elements in 32 bytes, and the size of an element in bytes."""
    size = max(get_bit_len(dtype) // 8, 1)
    return 32 // size, size


def get_block_size() -> int:
    """Returns the size in bytes of a memory block of the current chip."""
    return current_soc().block_bytes


def get_cube_mkn(dtype: str) -> list[int]:
    """Returns the tile of the cube unit for a dtype: (rows, reduction size, columns)."""
    return CUBE_MKN[dtype]["mac"]


def te_set_version(version: str, *_: Any, **__: Any) -> str:
    """Older name of `set_current_compile_soc_info`."""
    return set_current_compile_soc_info(version)


def is_lhisi_version() -> bool:
    """Returns False, because no chip that is supported here is a small camera chip."""
    return False


def get_kernel_meta_dir() -> str:
    """Returns the name of the CANN toolkit's output directory; this package does not use it."""
    return "kernel_meta"


def set_status(*_: Any, **__: Any) -> None:
    """Does nothing; the device status is not modelled."""


class CceProductParams:
    """Older query interface: ``CceProductParams().cce_product`` and ``getParams``."""

    cce_product = property(lambda self: current_soc().short_name.lower())

    def get_params_(self, key: str) -> Any:
        """Returns a property of the current chip.

        `key` is the name of the property. It may be a name of older toolkits, such as
        ``Unified_Buffer`` for ``UB_SIZE``.
        """
        names = {
            "Unified_Buffer": "UB_SIZE",
            "L1_Buffer": "L1_SIZE",
            "L0A_Buffer": "L0A_SIZE",
            "L0B_Buffer": "L0B_SIZE",
            "L0C_Buffer": "L0C_SIZE",
            "Device_core_num": "CORE_NUM",
        }
        return get_soc_spec(names.get(key, key))

    getParams = get_params_


_PRODUCTS = {"Ascend910": "cloud", "Ascend310": "1.1", "Ascend310P": "v200"}
"""Maps a chip family to its name in operator files of 2019 and 2020."""


def get_product_version() -> str:
    """Returns the older name of the current chip's family."""
    return _PRODUCTS.get(current_soc().short_name, "cloud")


PRODUCTS: Mapping[str, Any] = MappingProxyType(
    {
        "get_product_version": get_product_version,
        "VERSION_CLOUD": "cloud",
        "VERSION_MINI": "1.1",
        "is_cloud_version": lambda: get_product_version() == "cloud",
        "is_mini_version": lambda: get_product_version() == "1.1",
        "is_v200_version": lambda: get_product_version() == "v200",
        "is_lhisi_version": lambda: False,
    }
)
"""Maps a name in ``topi.cce.util`` to its value: a function, or the name of a chip family.

The functions query the chip family.
"""

CONSTANTS: Mapping[str, Any] = MappingProxyType(
    {
        **SCOPES,
        **_CHIPS,
        **{name: name for name in _KEYS},
        **INSTRUCTIONS,
        **_NUMBERS,
        **{
            f"{engine}_{chip}": f"Ascend{chip}{kind}"
            for chip in ("310P", "610", "310B", "610B")
            for engine, kind in (("AIC", "AiCore"), ("VEC", "VectorCore"))
        },
        "AIC_BS9SX1A": "BS9SX1AAiCore",
        "VEC_BS9SX1A": "BS9SX1AVectorCore",
        "HI3796CV300ESAIC": "Hi3796CV300ESAiCore",
        "HI3796CV300CSAIC": "Hi3796CV300CSAiCore",
        "SD3403AIC": "SD3403AiCore",
        "ASCEND_SD_AIC": "SD3403AiCore",
        "ASCEND_910BAIC": "Ascend910BAiCore",
        "ASCEND_910BVEC": "Ascend910BVectorCore",
        "COMPILER_ARCH": "Compiler_arch",
        "UB_BLOCK_SIZE": "ubblock_size",
        "VERSION_CLOUD": "cloud",
        "VERSION_MINI": "1.1",
        "VERSION_MINI_NG1": "1.3",
        "VERSION_SHISI": "5.10",
        "_AIC_ENGINE": "AiCore",
        "_VEC_ENGINE": "VectorCore",
        "AIC": "AiCore",
        "CUBE_MKN": CUBE_MKN,
        "conv_buffer_ex": SimpleNamespace(offset_pad=None),
    }
)
"""Constants of ``tbe.common.platform``, ``te.platform`` and ``te.platform.cce_params``."""

FUNCTIONS: Mapping[str, Any] = MappingProxyType(
    {
        function.__name__: function
        for function in (
            get_soc_spec,
            get_product_spec,
            set_current_compile_soc_info,
            api_check_support,
            intrinsic_check_support,
            get_bit_len,
            get_align_factor,
            get_block_size,
            get_cube_mkn,
            te_set_version,
            set_status,
            is_lhisi_version,
            get_kernel_meta_dir,
            CceProductParams,
        )
    }
    | {"te_update_version": te_set_version, "set_soc_spec": set_status, "getValue": get_soc_spec}
)
