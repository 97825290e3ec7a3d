// Library functions that move elements: padding, transpositions with NZ layouts, filling.
#pragma once

#include "gathers.h"
#include "library_rows.h"

namespace AscendC {

struct PadParams {
    uint16_t leftPad = 0, rightPad = 0;
    int32_t padValue = 0;
};
struct UnPadParams {
    uint16_t leftPad = 0, rightPad = 0;
};

} // namespace AscendC

namespace host_model {

// dst[i] = src[from(i)] for each element of the destination, with its state.
template <class T, class From>
void move_elements(Instruction& op, const AscendC::LocalTensor<T>& dst,
                   const AscendC::LocalTensor<T>& src, int64_t count, From&& from) {
    auto source = op.in(src, 0, count, 1, "the source");
    auto to = op.out(dst, 0, count);
    for (int64_t i = 0; i < count; ++i) {
        int64_t at = from(i);
        to.data[i] = source.data[at];
        op.set(to, i, source.state(at));
    }
}

// Place of an element in a matrix of `rows` rows in NZ layout: columns of 16 elements, row by row.
inline int64_t nz_index(int64_t row, int64_t column, int64_t rows) {
    return column / 16 * rows * 16 + row * 16 + column % 16;
}

template <class T>
void transpose_by_type(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
                       AscendC::TransposeType type,
                       const AscendC::ConfusionTransposeTiling& tiling, const Where& where) {
    using Type = AscendC::TransposeType;
    Instruction op(Pipe::V, "Transpose", where);
    check_alignment(op, dst, src);
    auto size = [&](uint32_t axis) { return static_cast<int64_t>(tiling.reserved[axis]); };
    bool matrix = type == Type::TRANSPOSE_ND2ND_ONLY, cube = type >= Type::TRANSPOSE_ND2ND_021;
    op.check(matrix || (cube && type != Type::TRANSPOSE_ND2NZ_WITH_INTLV) ||
                 (type >= Type::TRANSPOSE_NZ2ND_0213 &&
                  type <= Type::TRANSPOSE_NZ2NZ_012_WITHOUT_N),
             "unsupported", text_of("Transpose: type %d is not modelled", static_cast<int>(type)),
             "types 1 to 7 and 13 to 15 are");
    op.check(tiling.dims == (matrix ? 2u : cube ? 3u : 4u) || (cube && tiling.dims == 2),
             "argument",
             text_of("Transpose: type %d of a shape of %u sizes", static_cast<int>(type),
                     tiling.dims),
             "fill the tiling with GetTransposeTilingInfo: [B, N, S, H/N] for types 1 to 6, "
             "[H, W] for type 7");
    if (matrix || cube) {
        int64_t planes = tiling.dims == 3 ? size(0) : 1;
        int64_t rows = size(tiling.dims - 2), columns = size(tiling.dims - 1);
        op.check(!matrix || (rows % 16 == 0 && columns % 16 == 0), "argument",
                 text_of("Transpose: a matrix of %lld x %lld", static_cast<long long>(rows),
                         static_cast<long long>(columns)),
                 "height and width are multiples of 16");
        move_elements(op, dst, src, planes * rows * columns, [&](int64_t i) {
            auto source = [&](int64_t plane, int64_t row, int64_t column) {
                return (plane * rows + row) * columns + column;
            };
            if (type == Type::TRANSPOSE_ND2ND_102)
                return source(i / columns % planes, i / columns / planes, i % columns);
            if (type == Type::TRANSPOSE_ND2ND_210)
                return source(i % planes, i / planes % rows, i / planes / rows);
            return source(i / rows / columns, i % rows, i / rows % columns);
        });
        return;
    }
    int64_t heads = size(1), length = size(2), depth = size(3), width = heads * depth;
    op.check(length % 16 == 0 && depth % 16 == 0 &&
                 (type != Type::TRANSPOSE_NZ2NZ_0213 || heads % 16 == 0),
             "argument",
             text_of("Transpose: N %lld, S %lld, H/N %lld in NZ layout",
                     static_cast<long long>(heads), static_cast<long long>(length),
                     static_cast<long long>(depth)),
             "the axes of an NZ layout are multiples of 16");
    int64_t count = size(0) * heads * length * depth;
    std::vector<int64_t> from(count);
    for (int64_t i = 0; i < count; ++i) { // i counts [B, N, S, H/N]
        int64_t d = i % depth, s = i / depth % length, n = i / depth / length % heads;
        int64_t b = i / depth / length / heads, column = n * depth + d;
        int64_t merged = b * length * width + nz_index(s, column, length);
        int64_t split = (b * heads + n) * length * depth + nz_index(s, d, length);
        bool is_merged = type == Type::TRANSPOSE_NZ2NZ_012_WITH_N ||
                         type == Type::TRANSPOSE_NZ2ND_012_WITH_N;
        int64_t to = 0;
        switch (type) {
        case Type::TRANSPOSE_NZ2NZ_0213:
            to = (b * length + s) * width + nz_index(n, d, heads);
            break;
        case Type::TRANSPOSE_NZ2NZ_012_WITH_N: to = split; break;
        case Type::TRANSPOSE_NZ2ND_012_WITH_N: to = i; break;
        case Type::TRANSPOSE_NZ2NZ_012_WITHOUT_N: to = merged; break;
        default: to = (b * length + s) * width + column; // ND, [B, S, N, H/N] or [B, S, H]
        }
        from[to] = is_merged ? merged : split;
    }
    move_elements(op, dst, src, count, [&](int64_t i) { return from[i]; });
}

template <class T>
void pad_rows(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
              const AscendC::PadParams& params, const AscendC::PadTiling& tiling, bool hidden,
              const Where& where) {
    Instruction op(Pipe::V, "Pad", where);
    check_alignment(op, dst, src);
    int64_t real = tiling.srcOriWidth ? tiling.srcOriWidth : tiling.srcWidth;
    int64_t width = params.leftPad + real + params.rightPad;
    op.check(width * sizeof(T) % BLOCK_BYTES == 0, "alignment",
             text_of("Pad: rows of %lld elements are %lld bytes, no multiple of 32",
                     static_cast<long long>(width), static_cast<long long>(width * sizeof(T))),
             "leftPad and rightPad fill the rows to whole blocks of 32 bytes");
    if (hidden) take_workspace("Pad", uint64_t(tiling.srcWidth) * sizeof(T) * 32, where);
    for (int64_t row = 0; row < tiling.srcHeight; ++row) {
        auto from = op.in(src, row * tiling.srcWidth, real, 1, "the source");
        auto to = op.out(dst, row * width, width);
        for (int64_t i = 0; i < width; ++i) {
            int64_t at = i - params.leftPad;
            bool inside = at >= 0 && at < real;
            to.data[i] = inside ? from.data[at] : static_cast<T>(params.padValue);
            op.set(to, i, inside ? from.state(at) : 1);
        }
    }
}
template <class T>
void unpad_rows(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
                const AscendC::UnPadParams& params, const AscendC::UnPadTiling& tiling,
                bool hidden, const Where& where) {
    Instruction op(Pipe::V, "UnPad", where);
    check_alignment(op, dst, src);
    op.check(tiling.srcWidth * sizeof(T) % BLOCK_BYTES == 0, "alignment",
             text_of("UnPad: rows of %u elements are no multiple of 32 bytes", tiling.srcWidth),
             "UnPad removes the padding of rows that fill whole blocks");
    op.check(params.rightPad > 0 && params.rightPad * sizeof(T) < BLOCK_BYTES, "argument",
             text_of("UnPad: rightPad is %d", params.rightPad),
             "1 element to less than 32 bytes is removed");
    if (hidden) take_workspace("UnPad", uint64_t(tiling.srcWidth) * sizeof(T) * 32, where);
    int64_t width = tiling.srcWidth - params.rightPad;
    for (int64_t row = 0; row < tiling.srcHeight; ++row) {
        auto from = op.in(src, row * tiling.srcWidth, width, 1, "the source");
        auto to = op.out(dst, row * width, width);
        std::copy(from.data, from.data + width, to.data);
        op.derive(to, from);
    }
}

} // namespace host_model

namespace AscendC {

#define HOST_MODEL_LAYOUT(SHARED, HIDDEN)                                                          \
    template <class T>                                                                             \
    void Pad(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                 \
             const PadParams& padParams SHARED, const PadTiling& tiling, HOST_MODEL_WHERE) {       \
        ::host_model::pad_rows(dst, src, padParams, tiling, HIDDEN, where);                        \
    }                                                                                              \
    template <class T>                                                                             \
    void UnPad(const LocalTensor<T>& dst, const LocalTensor<T>& src,                               \
               const UnPadParams& unPadParams SHARED, const UnPadTiling& tiling,                   \
               HOST_MODEL_WHERE) {                                                                 \
        ::host_model::unpad_rows(dst, src, unPadParams, tiling, HIDDEN, where);                    \
    }                                                                                              \
    template <class T>                                                                             \
    void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src SHARED,                    \
                   TransposeType transposeType, const ConfusionTransposeTiling& tiling,            \
                   HOST_MODEL_WHERE) {                                                             \
        if (HIDDEN)                                                                                \
            ::host_model::take_workspace("Transpose", src.elements * sizeof(T), where);            \
        ::host_model::transpose_by_type(dst, src, transposeType, tiling, where);                   \
    }                                                                                              \
    template <class T>                                                                             \
    void ConfusionTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src SHARED,           \
                            TransposeType transposeType, const ConfusionTransposeTiling& tiling,   \
                            HOST_MODEL_WHERE) {                                                    \
        if (HIDDEN)                                                                                \
            ::host_model::take_workspace("ConfusionTranspose", src.elements * sizeof(T), where);   \
        ::host_model::transpose_by_type(dst, src, transposeType, tiling, where);                   \
    }
HOST_MODEL_LAYOUT(HOST_MODEL_COMMA HOST_MODEL_SHARED, false)
HOST_MODEL_LAYOUT(, true)

// Fills global memory with a value, from UB.
template <class T>
void Fill(GlobalTensor<T>& gmWorkspaceAddr, uint64_t size, ::host_model::Scalar<T> value,
          HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::MTE3, "Fill", where);
    auto to = op.out(gmWorkspaceAddr, 0, static_cast<int64_t>(size));
    std::fill(to.data, to.data + to.count, static_cast<T>(value));
    op.derive(to);
}
// Names of Fill in earlier versions.
template <class T>
void InitGlobalMemory(GlobalTensor<T>& gmWorkspaceAddr, uint64_t size,
                      ::host_model::Scalar<T> value, HOST_MODEL_WHERE) {
    Fill(gmWorkspaceAddr, size, value, where);
}
template <class T>
void InitOutput(GlobalTensor<T> gmWorkspaceAddr, uint64_t size,
                ::host_model::Scalar<T> value = T(0), HOST_MODEL_WHERE) {
    Fill(gmWorkspaceAddr, size, value, where);
}

} // namespace AscendC
