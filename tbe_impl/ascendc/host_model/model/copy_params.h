// Parameters of copies.
#pragma once

#include "elementwise.h"

namespace AscendC {

// The fields are wider than those of the instruction, so that a value that does not fit is an
// error.
struct DataCopyParams { // lengths and gaps in blocks of 32 bytes (bytes in DataCopyPad)
    int64_t blockCount = 1, blockLen = 0;
    union {
        int64_t srcStride = 0, srcGap;
    };
    union {
        int64_t dstStride = 0, dstGap;
    };
    DataCopyParams() = default;
    template <class A, class B, class C, class D>
    DataCopyParams(A count, B length, C src_gap, D dst_gap)
        : blockCount(static_cast<int64_t>(count)), blockLen(static_cast<int64_t>(length)),
          srcStride(static_cast<int64_t>(src_gap)), dstStride(static_cast<int64_t>(dst_gap)) {}
};
struct DataCopyExtParams { // lengths in bytes; gaps in bytes in global, in blocks in on-chip memory
    int64_t blockCount = 1, blockLen = 0, srcStride = 0, dstStride = 0;
    uint32_t rsv = 0;
    DataCopyExtParams() = default;
    template <class A, class B, class C, class D, class E>
    DataCopyExtParams(A count, B length, C src_gap, D dst_gap, E reserved)
        : blockCount(static_cast<int64_t>(count)), blockLen(static_cast<int64_t>(length)),
          srcStride(static_cast<int64_t>(src_gap)), dstStride(static_cast<int64_t>(dst_gap)),
          rsv(static_cast<uint32_t>(reserved)) {}
    DataCopyExtParams(const DataCopyParams& one)
        : blockCount(one.blockCount), blockLen(one.blockLen), srcStride(one.srcStride),
          dstStride(one.dstStride) {}
};
struct DataCopyPadParams {
    bool isPad = false;
    int64_t leftPadding = 0, rightPadding = 0;
    uint64_t paddingValue = 0; // bits
    DataCopyPadParams() = default;
    template <class A, class B, class C, class D>
    DataCopyPadParams(A pad, B left, C right, D value)
        : isPad(static_cast<bool>(pad)), leftPadding(static_cast<int64_t>(left)),
          rightPadding(static_cast<int64_t>(right)), paddingValue(static_cast<uint64_t>(value)) {}
};
template <class T> struct DataCopyPadExtParams {
    bool isPad = false;
    int64_t leftPadding = 0, rightPadding = 0;
    T paddingValue = T(0);
    DataCopyPadExtParams() = default;
    template <class A, class B, class C, class D>
    DataCopyPadExtParams(A pad, B left, C right, D value)
        : isPad(static_cast<bool>(pad)), leftPadding(static_cast<int64_t>(left)),
          rightPadding(static_cast<int64_t>(right)), paddingValue(static_cast<T>(value)) {}
};
template <class A, class B, class C, class T>
DataCopyPadExtParams(A, B, C, T) -> DataCopyPadExtParams<T>;
enum class PaddingMode : uint8_t { Normal = 0, Compact };

struct SliceInfo {
    uint32_t startIndex = 0, endIndex = 0, stride = 0, burstLen = 0, shapeValue = 0;
    SliceInfo() = default;
    template <class A, class B, class C, class D, class E = uint32_t>
    SliceInfo(A start, B end, C gap, D burst, E shape = 0)
        : startIndex(static_cast<uint32_t>(start)), endIndex(static_cast<uint32_t>(end)),
          stride(static_cast<uint32_t>(gap)), burstLen(static_cast<uint32_t>(burst)),
          shapeValue(static_cast<uint32_t>(shape)) {}
};
struct Nd2NzParams {
    int64_t ndNum = 0, nValue = 0, dValue = 0, srcNdMatrixStride = 0, srcDValue = 0,
            dstNzC0Stride = 0, dstNzNStride = 0, dstNzMatrixStride = 0;
    Nd2NzParams() = default;
    template <class A, class B, class C, class D, class E, class F, class G, class H>
    Nd2NzParams(A number, B rows, C columns, D matrix_stride, E row_stride, F c0_stride, G n_stride,
                H nz_matrix_stride)
        : ndNum(static_cast<int64_t>(number)), nValue(static_cast<int64_t>(rows)),
          dValue(static_cast<int64_t>(columns)),
          srcNdMatrixStride(static_cast<int64_t>(matrix_stride)),
          srcDValue(static_cast<int64_t>(row_stride)),
          dstNzC0Stride(static_cast<int64_t>(c0_stride)),
          dstNzNStride(static_cast<int64_t>(n_stride)),
          dstNzMatrixStride(static_cast<int64_t>(nz_matrix_stride)) {}
};
struct Nz2NdParamsFull {
    int64_t ndNum = 0, nValue = 0, dValue = 0, srcNdMatrixStride = 0, srcNStride = 0,
            dstDStride = 0, dstNdMatrixStride = 0;
    Nz2NdParamsFull() = default;
    template <class A, class B, class C, class D, class E, class F, class G>
    Nz2NdParamsFull(A number, B rows, C columns, D matrix_stride, E n_stride, F row_stride,
                    G nd_matrix_stride)
        : ndNum(static_cast<int64_t>(number)), nValue(static_cast<int64_t>(rows)),
          dValue(static_cast<int64_t>(columns)),
          srcNdMatrixStride(static_cast<int64_t>(matrix_stride)),
          srcNStride(static_cast<int64_t>(n_stride)), dstDStride(static_cast<int64_t>(row_stride)),
          dstNdMatrixStride(static_cast<int64_t>(nd_matrix_stride)) {}
};
struct CopyRepeatParams {
    uint32_t dstStride = 1, srcStride = 1, dstRepeatSize = 8, srcRepeatSize = 8;
    CopyRepeatParams() = default;
    template <class A, class B, class C, class D>
    CopyRepeatParams(A dst_block, B src_block, C dst_repeat, D src_repeat)
        : dstStride(static_cast<uint32_t>(dst_block)), srcStride(static_cast<uint32_t>(src_block)),
          dstRepeatSize(static_cast<uint32_t>(dst_repeat)),
          srcRepeatSize(static_cast<uint32_t>(src_repeat)) {}
};

} // namespace AscendC
