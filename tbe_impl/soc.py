"""Lists the on-chip memory sizes of each chip, and its supported dtypes and conversions.

The toolkit has two dtype tables per chip. The first table lists the dtypes of *instructions*. If
the dtype of an operation is not listed there, the operation is composed of casts and other
instructions. The second table lists the dtypes of *operations*. If the dtype of an operation is not
listed there, the operation is rejected.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tbe_impl.errors import InputError

DTYPE_OF_SHORT_NAME = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "bf16": "bfloat16",
    "b": "bool",
    "u1": "uint1",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "i4": "int4",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
}
"""Short dtype name in the tables below → dtype."""

_CONVERSION_NAME = {
    **{long: short for short, long in DTYPE_OF_SHORT_NAME.items()},
    **{f"int{bits}": f"s{bits}" for bits in (4, 8, 16, 32, 64)},
    "bool": "s8",
}


@dataclass(frozen=True)
class Soc:
    """One chip.

    Attributes:
        name: the full name, such as ``Ascend910A``.
        short_name: name of the chip family, such as ``Ascend910``. Operators compare this name to
            choose code for a chip.
        unified_buffer_bytes, l1_bytes, l0a_bytes, l0b_bytes, l0c_bytes: sizes of the on-chip
            memories of a core. 0 means unlimited.
        l2_bytes: size of the memory that all cores share.
        block_bytes: minimum size, and alignment, of a memory copy.
        cores: number of cores that a kernel can use.
        vector_cores: number of additional cores without a cube unit.
        instructions: instruction → supported dtypes.
        words: DSL operation → supported dtypes.
        conversions: supported conversions, such as ``f322s32z`` (source, target, rounding mode).
    """

    name: str
    short_name: str
    unified_buffer_bytes: int = 0
    l1_bytes: int = 0
    l0a_bytes: int = 0
    l0b_bytes: int = 0
    l0c_bytes: int = 0
    l2_bytes: int = 0
    block_bytes: int = 32
    cores: int = 1
    vector_cores: int = 0
    instructions: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    words: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    conversions: frozenset[str] = frozenset()

    @property
    def is_unlimited(self) -> bool:
        """Whether the chip supports every dtype and its on-chip memory is unlimited."""
        return self.short_name == "cpu"


@functools.cache
def _table(text: str, column: int) -> Mapping[str, frozenset[str]]:
    """Parses one column of a table; returns a dict from each name to the dtypes in this column.

    Cells are separated by ``|``. A cell ``-`` means that no dtype is supported. An empty cell
    repeats the cell to its left.
    """
    found: dict[str, frozenset[str]] = {}
    for line in text.strip().splitlines():
        names, *cells = line.split("|")
        chosen = "-"
        for cell in cells[: column + 1]:
            chosen = cell.strip() or chosen
        dtypes = frozenset(DTYPE_OF_SHORT_NAME[item] for item in chosen.split() if item != "-")
        if dtypes:
            found.update(dict.fromkeys(names.split(), dtypes))
    return MappingProxyType(found)


_COLUMNS = ("Ascend310", "Ascend310P", "Ascend910", "Ascend910B")

_INSTRUCTIONS = """
vadd vsub vmul vmax vmin             | f16 f32 i32 | f16 f32 i32 i16 | f16 f32 i32 | f16 f32 i32 i16
vadds vmuls                          | f16 f32 | f16 f32 i32 i16 | f16 f32 | f16 f32 i32 i16
vmaxs vmins                          | - | f16 f32 i32 i16 | - | f16 f32 i32 i16
vabs vrec vrsqrt vmadd vmaddrelu     | f16 f32
vaxpy vmla vcadd                     | f16 f32
vexp vln vcmp vsel                   | f16 | f16 f32
vdiv vsqrt                           | - | f16 f32
vcmpv_eq                             | f16 | f16 f32 | | f16 f32 i32
vcmpv_ne vcmpv_gt vcmpv_ge vcmpv_lt vcmpv_le | f16 | f16 f32
vcmpvs_eq                            | - | f16 f32 | - | f16 f32 i32
vcmpvs_ne vcmpvs_gt vcmpvs_ge vcmpvs_lt vcmpvs_le | - | f16 f32 | - | f16 f32
vand vor vnot                        | i16 u16
vshl vshr                            | - | - | - | i16 u16 i32 u32
vrelu                                | f16 | f16 f32 i32 | f16 | f16 f32 i32
vlrelu                               | - | f16 f32 | - | f16 f32
vaddrelu                             | - | i16 f16 f32 | - | i16 f16 f32
vsubrelu                             | - | i16 f16 f32 | - | -
vcmax vcmin vcgmax vcgmin vcgadd vcpadd | f16 | f16 f32 | f16 | f16 f32
vbitsort vmrgsort4                   | f16 | f16 f32 | f16 | f16
vbitsort32 vmrgsort4v2               | - | - | - | f16 f32
vaadd vconcat vextract viou vrpac    | f16 | f16 f32 | f16 | -
vgather vreduce                      | - | i16 u16 f16 f32 i32 u32 | - | i16 u16 f16 f32 i32 u32
vscatter vpadding                    | - | i16 u16 f16 f32 i32 u32 | - | -
vcopy                                | - | - | - | i16 u16 f16 f32 i32 u32
vbrcb                                | - | - | - | i16 u16 f16 f32 i32 u32
vnchwconv                            | i16 u16 i8 u8 f16 | i16 u16 i8 u8 i32 u32 f16 f32 | i16 u16 i8 u8 f16 | i16 u16 i8 u8 f16 i32 u32 f32
vtranspose                           | u16 i16 f16
"""

_OPERATION_TABLE = """
broadcast full        | i8 u8 f16 i16 u16 f32 i32 u32 | b i8 u8 f16 i16 u16 f32 i32 u32 i64 u64 | i8 u8 f16 i16 u16 f32 i32 u32 i64 u64 | b u1 i8 u8 f16 i16 u16 f32 i32 u32 i64 u64 bf16
unsorted_segment_sum unsorted_segment_mean inplace_add inplace_sub inplace_update | f16 f32 i32
unsorted_segment_prod unsorted_segment_min unsorted_segment_max | f16 f32 i32 | f16 f32 i32 i16 | f16 f32 i32
ceil floor round trunc round_half_up | f16 | f16 f32
reduce_sum reduce_max reduce_min | f16 f32 i32 | f16 f32 i32 i64 | f16 f32 i32 | f16 f32 i32 i64
reduce_prod           | f16 f32 i32 | f16 f32 i32 i64
reduce_mean           | f16 | f16 f32
reduce_all reduce_any | - | u1 b i8
tuple_sum             | f16 f32 i32
reduce_window         | f16 | | | f16 f32
vadd                  | f16 f32 i32 | i16 f16 i32 f32 u64 i64 | f16 f32 i32 i64 u64 | f16 f32 i32 i64
vsub vmul vmin vmax   | f16 f32 i32 | i16 f16 i32 f32 i64 | f16 f32 i32 i64
vdiv                  | f16 f32 | f16 f32 i64
vmod                  | f16 | f16 f32 i64
vgcd                  | i32 | i16 i32 i64 | i32 | i16 i32 i64
vadds vmuls           | f16 f32 i32 | i16 f16 f32 i32 i64 | f16 f32 i32 i64
vmins                 | f16 f32 i32 | i16 f16 f32 i32 | f16 f32 i32
vmaxs                 | f16 f32 i32 | b i16 f16 f32 i32 | f16 f32 i32
vnot                  | i16 u16 i32 u32 | u1 u16 i16 u32 i32 u64 i64 | u1 i16 u16 i32 u32 | u1 i16 u16 i32 u32 i64
vor                   | i16 u16 i32 u32 | u1 u16 i16 f16 u32 i32 f32 u64 i64 | u1 i16 u16 i32 u32 | u1 i16 u16 i32 u32 i64
vand                  | i16 u16 i32 u32 | u1 u16 i16 u32 i32 u64 i64 | u1 i16 u16 i32 u32 | u1 i16 u16 i32 u32 i64
vcmp                  | f16 | f16 f32 i64 u64 | | f16 f32 i64 u64 i32
vlogic                | b
vsel                  | f16 | f16 f32 i64
vcmpsel vlog vexp     | f16 | f16 f32
vabs                  | f16 f32 | | | f16 f32 i64
vsignbit              | - | | | f16 f32 i32 i16
vrec vsqrt vrsqrt vaxpy vmla vmadd vmaddrelu set_value | f16 f32
vrelu                 | f16 | f16 i32 f32 | f16
vlrelu                | f16 f32 i32 | f16 f32 | f16 f32 i32 | f16 f32
vaddrelu vsubrelu     | f16 | i16 f16 f32 | f16
gather gather_nd slice | - | f16 f32 i8 u8 i16 u16 i32 u32 i64 u64 b | | bf16 f16 f32 i8 u8 i16 u16 i32 u32 i64 u64 b
powi                  | - | i32 | - | i32
segment               | f16 i32 | f16 f32 i32 | | f16 f32 i32 bf16
scatter               | - | f16 f32 i32 | | f16 f32 i32 bf16 i64
scatter_nd            | - | f16 f32 i32 | | f16 f32 i32 bf16 i64 i8
transpose             | f16 f32 i8 u8 i16 u16 i32 u32 i64 u64 | | | bf16 f16 f32 i8 u8 i16 u16 i32 u32 i64 u64
transdata             | f16 f32 i8 u8 i16 u16 i32 u32 | | | f16 f32 i8 u8 i16 u16 i32 u32 bf16
clip                  | f16 f32 i32 | b u8 i8 i16 f16 i32 f32 | f16 f32 i32
conv matmul pooling2d compute_four2five compute_five2four | f16
concat                | b i8 i16 i32 i64 u8 u16 u32 u64 bf16 f16 f32
split                 | b i8 i16 i32 i64 u8 u16 u32 u64 bf16 f16 f32
sort topk             | - | f16 f32 | f16 | f16 f32
"""

_FLOAT_CONVERSIONS = (
    "f322f16 f162f32 f322f16o f162s8 f162s8a f162s8f f162s8c f162s8z f162u8 f162u8a f162u8f "
    "f162u8c f162u8z deq s322f32 f162s32r f162s32a f162s32f f162s32c f162s32z f322s32r f322s32a "
    "f322s32f f322s32c f322s32z u82f16 s82f16 s322f16"
)
_CONVERSIONS = {
    "Ascend310": "f322f16 f162f32 f162s8 f162u8 deq f162s32f f162s32c f162s32r u82f16 s82f16 "
    "s322f16",
    "Ascend310P": f"{_FLOAT_CONVERSIONS} s162u8 s162s8 f162s4 s162f16 f162s16r",
    "Ascend910": _FLOAT_CONVERSIONS,
    "Ascend910B": f"{_FLOAT_CONVERSIONS} f162s8r f162u8r s162f16 s162f32 s162s8 s162u8 s322s64 "
    "s322s16 s642s32 bf162f32 "
    + " ".join(
        f"{pair}{rounding}"
        for pair in (
            "f322f32 f322f16 f322s64 f322s16 f162s16 s162f16 s322f32 s642f32 f322bf16 bf162s32"
        ).split()
        for rounding in "rafcz"
    ),
}

_OPERATION_CONVERSIONS = {
    "Ascend310": "s82f16 s82u8 u82f16 u82s8 f162f32 f162s8 f162u8 f162s32 f322f16 f322s8 f322u8 "
    "f322s32 s322f16 s322s8 s322u8 s322f32",
    "Ascend310P": "u82s8 u82f16 u82s32 u82f32 s82u8 s82f16 s82s32 s82f32 s162f16 s162s32 s162f32 "
    "f162u8 f162s8 f162s32 f162f32 s322u8 s322s8 s322f16 s322f32 s322s64 f322u8 f322s8 f322f16 "
    "f322s32 s642s32 s642f16 s322s16",
    "Ascend910": "s82f16 s82u8 u82f16 u82s8 f162f32 f162s8 f162u8 f162s32 f322f16 f322s8 f322u8 "
    "f322s32 s322f16 s322s8 s322u8 s322f32 s322s64 s642s32 s642f16",
    "Ascend910B": "s42f16 s82f16 s82u8 u82f16 u82s8 f162f32 f162s8 f162u8 f162s32 bf162f32 "
    "f322bf16 f322f16 f322s8 f322u8 f322s32 s322f16 s322s8 s322u8 s322f32 s322s64 s642s32 s642f16 "
    "s162f32 s642u32 s642s16 s642u16 s642s8 s642u8 s322u32 s322s16 s322u16 u322s64 u322s32 u322s16 "
    "u322u16 u322s8 u322u8 s162s64 s162s32 s162u32 s162u16 s162s8 s162u8 u162s64 u162s32 u162u32 "
    "u162s16 u162s8 u162u8 s82s64 s82s32 s82u32 s82s16 s82u16 u82s64 u82s32 u82u32 u82s16 u82u16",
}
"""Chip family → conversions that ``cast_to`` supports, with one or with several instructions."""

_KIB = 1024
_OPERATION_SYNONYMS = {"sum": "reduce_sum", "round_to": "clip", "round_d": "round_half_up"}


_EQUIVALENT_FAMILY = {"Ascend310B": "Ascend910B"}
"""Chip family without tables of its own → the family whose tables apply to it.

The family without tables has additional instructions, but no operator queries them.
"""


def _chip(name: str, short_name: str, sizes: tuple[int, int, int, int], **more: int) -> Soc:
    like = _EQUIVALENT_FAMILY.get(short_name, short_name)
    column = _COLUMNS.index(like)
    unified, l1, l0c, cores = sizes
    return Soc(
        name,
        short_name,
        unified_buffer_bytes=unified * _KIB,
        l1_bytes=l1 * _KIB,
        l0a_bytes=64 * _KIB,
        l0b_bytes=64 * _KIB,
        l0c_bytes=l0c * _KIB,
        cores=cores,
        instructions=_table(_INSTRUCTIONS, column),
        words=_table(_OPERATION_TABLE, column),
        conversions=frozenset(_CONVERSIONS[like].split()),
        **more,
    )


def _make_ascend910b(name: str, cores: int) -> Soc:
    return _chip(
        name,
        "Ascend910B",
        (192, 512, 128, cores),
        vector_cores=2 * cores,
        l2_bytes=192 * _KIB * _KIB,
    )


SOCS: Mapping[str, Soc] = MappingProxyType(
    {
        chip.name: chip
        for chip in (
            Soc("cpu", "cpu"),
            _chip("Ascend310", "Ascend310", (248, 1024, 256, 2), l2_bytes=8 * _KIB * _KIB),
            _chip(
                "Ascend310P3",
                "Ascend310P",
                (256, 1024, 256, 8),
                vector_cores=7,
                l2_bytes=16 * _KIB * _KIB,
            ),
            _chip("Ascend910A", "Ascend910", (256, 1024, 256, 32), l2_bytes=32 * _KIB * _KIB),
            *(
                _chip(
                    f"Ascend310B{number}",
                    "Ascend310B",
                    (248, 1024, 128, 1),
                    vector_cores=1,
                    l2_bytes=4 * _KIB * _KIB,
                )
                for number in (1, 2, 3, 4)
            ),
            _make_ascend910b("Ascend910B1", 24),
            _make_ascend910b("Ascend910B2", 24),
            _make_ascend910b("Ascend910B3", 20),
            _make_ascend910b("Ascend910B4", 20),
        )
    }
)
"""Full name → chip. Sizes and dtypes agree with the toolkit's platform files."""

_SPELLINGS = {
    "910": "910A",
    "910pro": "910A",
    "910proa": "910A",
    "910prob": "910A",
    "910premiuma": "910A",
    "910b": "910B1",
    "310p": "310P3",
    "310p1": "310P3",
    "310p5": "310P3",
    "310p7": "310P3",
    "710": "310P3",
    "910b2c": "910B2",
    "910_93": "910B1",
    "310b": "310B1",
    "910b4-1": "910B4",
    "910b4_1": "910B4",
}


def find_soc(name: str | Soc) -> Soc:
    """Returns the chip with the given name, in any common spelling.

    >>> find_soc("ascend910").name, find_soc("910B").name
    ('Ascend910A', 'Ascend910B1')

    Raises:
        InputError: the chip is unknown; the error lists the known chips.
    """
    if isinstance(name, Soc):
        return name
    text = re.sub(r"^(ascend|aic|soc)[ _-]*", "", str(name).strip().lower())
    text = _SPELLINGS.get(text, text)
    for known in SOCS.values():
        if known.name.lower().removeprefix("ascend") == text.lower():
            return known
    raise InputError(
        "unknown chip",
        expected=", ".join(SOCS),
        got=repr(name),
        remedy='soc="cpu" takes every dtype and has no on-chip limit',
    )


def is_instruction_supported(chip: str | Soc, instruction: str, dtype: str) -> bool:
    """Whether an instruction of a chip supports a dtype; the result for ``cpu`` is always True.

    >>> is_instruction_supported("Ascend910A", "vrelu", "float32")
    False
    >>> is_instruction_supported("Ascend310P3", "vrelu", "float32")
    True
    """
    found = find_soc(chip)
    return found.is_unlimited or dtype in found.instructions.get(instruction, frozenset())


def is_operation_supported(chip: str | Soc, word: str, dtype: str = "") -> bool:
    """Whether a chip supports an operation, or supports it for `dtype` if `dtype` is given.

    >>> is_operation_supported("Ascend910A", "vsubs")
    False
    >>> is_operation_supported("Ascend910A", "vexp", "float32")
    True
    """
    found = find_soc(chip)
    name = _OPERATION_SYNONYMS.get(word, word)
    if name == "cast_to":
        return (
            found.is_unlimited
            or not dtype
            or dtype
            in _OPERATION_CONVERSIONS[
                _EQUIVALENT_FAMILY.get(found.short_name, found.short_name)
            ].split()
        )
    table = (SOCS["Ascend910B1"] if found.is_unlimited else found).words
    if name not in table:
        return False
    if not dtype or found.is_unlimited or dtype in table[name]:
        return True
    # queries of rounding operations may also name a conversion, such as f162s32
    return name in ("ceil", "floor", "round", "trunc", "round_half_up") and any(
        pair.rstrip("rafcz") == dtype for pair in found.conversions
    )


def is_conversion_supported(chip: str | Soc, mode: str, source: str, target: str) -> bool:
    """Whether the chip converts dtype `source` to dtype `target` with one instruction.

    Args:
        chip: name or record of the chip.
        mode: rounding mode: ``r`` to nearest even, ``a`` half away from zero, ``f`` floor,
            ``c`` ceil, ``z`` truncate, or empty for the plain conversion.
        source, target: names of the dtypes.

    >>> is_conversion_supported("Ascend910A", "z", "float32", "int32")
    True
    >>> is_conversion_supported("Ascend310", "z", "float32", "int32")
    False
    """
    found = find_soc(chip)
    if found.is_unlimited or source == target:
        return True
    names = [_CONVERSION_NAME.get(dtype, dtype) for dtype in (source, target)]
    return f"{names[0]}2{names[1]}{mode}" in found.conversions
