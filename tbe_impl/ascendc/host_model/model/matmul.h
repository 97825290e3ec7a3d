// The Matmul object: C = A x B + bias for a part of the matrices, as its tiling describes it.
//
// A vector core calls it; on the chip the cube core computes. The model multiplies in float (int32
// for int8) and rounds once. Operands may lie in global memory or in on-chip memory.
#pragma once

#include "../host/tiling_data.h"
#include "lanes.h"

#define ASCENDC_HAS_MATMUL 1

enum class CubeFormat { ND = 0, NZ, ZN, ZZ, NN, VECTOR, SCALAR, ND_ALIGN, ROW_MAJOR, COLUMN_MAJOR };
enum class LayoutMode { NONE = 0, BSNGD, SBNGD, BNGS1S2, NORMAL };

namespace AscendC {

using ::CubeFormat;
using ::LayoutMode;

template <TPosition POSITION, CubeFormat FORMAT, class TYPE, bool ISTRANS = false,
          LayoutMode LAYOUT = LayoutMode::NONE, bool IBSHARE = false>
struct MatmulType {
    static constexpr TPosition pos = POSITION;
    static constexpr CubeFormat format = FORMAT;
    using T = TYPE;
    static constexpr bool isTrans = ISTRANS;
};

struct MatmulConfig {
    bool doNorm = true, doBasicBlock = false, doMultiDataLoad = false;
    uint32_t basicM = 0, basicN = 0, basicK = 0;
    bool intrinsicsCheck = false, isNBatch = false, enVecND2NZ = false, doSpecialBasicBlock = false;
    uint32_t doMTE2Preload = 0;
    uint32_t singleCoreM = 0, singleCoreN = 0, singleCoreK = 0, stepM = 0, stepN = 0;
    uint32_t baseMN = 0;
    bool enUnitFlag = false, isPerTensor = false, hasAntiQuantOffset = false, doIBShareNorm = false;
};
constexpr MatmulConfig CFG_NORM{}, CFG_MDL{}, CFG_IBSHARE_NORM{}, MM_CFG_BB{};
constexpr MatmulConfig GetNormalConfig() { return {}; }
constexpr MatmulConfig GetMDLConfig() { return {}; }
constexpr MatmulConfig GetBasicConfig(uint32_t, uint32_t, uint32_t) { return {}; }
constexpr MatmulConfig GetIBShareNormConfig() { return {}; }
template <auto... function> struct MatmulCallBackFunc {};

} // namespace AscendC

namespace host_model {

// An operand of a product: rows and columns of a matrix in one of the memories.
template <class T> struct Matrix {
    AscendC::GlobalTensor<T> global;
    AscendC::LocalTensor<T> local;
    bool is_global = true, transposed = false;
    CubeFormat format = CubeFormat::ND;
    int64_t stride = 0, rows = 0; // as stored
    int64_t at(int64_t row, int64_t column) const {
        if (transposed) std::swap(row, column);
        if (format != CubeFormat::NZ) return row * stride + column;
        constexpr int64_t lanes = BLOCK_BYTES / sizeof(T);
        int64_t padded = (rows + 15) / 16 * 16;
        return column / lanes * padded * lanes + row * lanes + column % lanes;
    }
};

} // namespace host_model

namespace AscendC {

template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE, const auto& MM_CFG = CFG_NORM,
          class... Callbacks>
class Matmul {
    using A = typename A_TYPE::T;
    using B = typename B_TYPE::T;
    using C = typename C_TYPE::T;
    using Bias = typename BIAS_TYPE::T;
    using Sum = std::conditional_t<std::is_integral<C>::value && std::is_integral<A>::value, int32_t, float>;
    using Where = ::host_model::Where;

public:
    Matmul() = default;
    template <class Tiling> void Init(const Tiling* tiling, TPipe* = nullptr) { set_tiling(*tiling); }
    template <class Tiling> void set_tiling(const Tiling& tiling) {
        std::memcpy(static_cast<void*>(&tiling_), static_cast<const void*>(&tiling), sizeof(tiling_));
        m_ = tiling_.singleCoreM;
        n_ = tiling_.singleCoreN;
        k_ = tiling_.singleCoreK;
        SetOrgShape(tiling_.M, tiling_.N, tiling_.Ka, tiling_.Kb);
        has_bias_ = false;
        position_ = 0;
    }
    void SetOrgShape(int m, int n, int k) { SetOrgShape(m, n, k, k); }
    void SetOrgShape(int m, int n, int ka, int kb, int kc = 0) {
        org_m_ = m;
        org_n_ = n;
        org_ka_ = ka;
        org_kb_ = kb;
        org_kc_ = kc;
    }
    void SetSingleShape(int m, int n, int k) {
        m_ = m;
        n_ = n;
        k_ = k;
    }
    void SetTail(int m = -1, int n = -1, int k = -1) {
        if (m >= 0) m_ = m;
        if (n >= 0) n_ = n;
        if (k >= 0) k_ = k;
    }
    void SetTensorA(const GlobalTensor<A>& tensor, bool transposed = false) {
        a_ = {tensor, {}, true, transposed, A_TYPE::format, transposed ? org_m_ : org_ka_, transposed ? org_ka_ : org_m_};
        position_ = 0;
    }
    void SetTensorA(const LocalTensor<A>& tensor, bool transposed = false) {
        a_ = {{}, tensor, false, transposed, A_TYPE::format, local_width<A>(transposed ? m_ : k_), transposed ? k_ : m_};
        position_ = 0;
    }
    void SetTensorB(const GlobalTensor<B>& tensor, bool transposed = false) {
        b_ = {tensor, {}, true, transposed, B_TYPE::format, transposed ? org_kb_ : org_n_, transposed ? org_n_ : org_kb_};
        position_ = 0;
    }
    void SetTensorB(const LocalTensor<B>& tensor, bool transposed = false) {
        b_ = {{}, tensor, false, transposed, B_TYPE::format, local_width<B>(transposed ? k_ : n_), transposed ? n_ : k_};
        position_ = 0;
    }
    void SetBias(const GlobalTensor<Bias>& tensor) { bias_ = {tensor, {}, true}, has_bias_ = true; }
    void SetBias(const LocalTensor<Bias>& tensor) { bias_ = {{}, tensor, false}, has_bias_ = true; }
    void ClearBias() { has_bias_ = false; }
    void DisableBias() { has_bias_ = false; }
    void SetHF32(bool, int32_t = 0) {}
    void SetSubBlockIdx(uint8_t) {}
    void SetLocalWorkspace(const LocalTensor<uint8_t>&) {}
    template <class T> void SetWorkspace(const GlobalTensor<T>&) {}
    template <class T> void SetWorkspace(T*, int) {}
    template <class T> void SetUserDefInfo(T) {}
    template <class T> void SetSelfDefineData(T) {}
    void WaitIterateAll() {}
    void WaitGetTensorC() {}
    void End() { position_ = 0; }

    // All of this core's part of C.
    template <bool sync = true>
    void IterateAll(const GlobalTensor<C>& c, uint8_t enAtomic = 0, bool = false, bool = false, bool = false,
                    Where where = Where::here()) {
        multiply(where, 0, m_, 0, n_);
        store(c, 0, m_, 0, n_, org_c(), enAtomic, where);
    }
    template <bool sync = true>
    void IterateAll(const LocalTensor<C>& c, uint8_t = 0, Where where = Where::here()) {
        multiply(where, 0, m_, 0, n_);
        store_local(c, m_, n_, where);
    }
    // The next block of baseM x baseN; false after the last one.
    template <bool sync = true> bool Iterate(bool = false, Where where = Where::here()) {
        int64_t base_m = std::max(tiling_.baseM, 1), base_n = std::max(tiling_.baseN, 1);
        int64_t rows = (m_ + base_m - 1) / base_m, columns = (n_ + base_n - 1) / base_n;
        if (position_ >= rows * columns) return position_ = 0, false;
        int64_t i = tiling_.iterateOrder == 0 ? position_ % rows : position_ / columns;
        int64_t j = tiling_.iterateOrder == 0 ? position_ / rows : position_ % columns;
        row_ = i * base_m;
        column_ = j * base_n;
        height_ = std::min<int64_t>(base_m, m_ - row_);
        width_ = std::min<int64_t>(base_n, n_ - column_);
        multiply(where, row_, height_, column_, width_);
        ++position_;
        return true;
    }
    template <bool sync = true>
    void GetTensorC(const GlobalTensor<C>& c, uint8_t enAtomic = 0, bool sequential = false, Where where = Where::here()) {
        if (sequential) return store(c, 0, height_, 0, width_, std::max<int64_t>(tiling_.baseN, 1), enAtomic, where);
        store(c, row_, height_, column_, width_, org_c(), enAtomic, where);
    }
    template <bool sync = true, bool doPad = false>
    void GetTensorC(const LocalTensor<C>& c, uint8_t = 0, bool = false, uint32_t = 0, uint32_t = 0, uint32_t = 0,
                    uint32_t = 0, Where where = Where::here()) {
        store_local(c, height_, width_, where);
    }
    template <bool sync = true> void GetTensorC(const GlobalTensor<C>& c, const LocalTensor<C>& local, uint8_t enAtomic = 0,
                                                bool sequential = false, Where where = Where::here()) {
        GetTensorC(c, enAtomic, sequential, where);
        store_local(local, height_, width_, where);
    }
    struct MatrixOffset {
        int32_t offset = 0, row = 0, col = 0, height = 0, width = 0;
    };
    MatrixOffset GetOffsetC() const {
        return {static_cast<int32_t>(row_ * org_c() + column_), static_cast<int32_t>(row_), static_cast<int32_t>(column_),
                static_cast<int32_t>(height_), static_cast<int32_t>(width_)};
    }
    ::optiling::TCubeTiling tiling_{};

private:
    int64_t org_c() const { return org_kc_ ? org_kc_ : org_n_; }
    template <class T> static int64_t local_width(int64_t width) {
        constexpr int64_t lanes = ::host_model::BLOCK_BYTES / sizeof(T);
        return (width + lanes - 1) / lanes * lanes;
    }
    // Copies a block of an operand into rows of numbers, with all checks of its memory.
    template <class T, class Op>
    std::vector<Sum> block(Op& op, const ::host_model::Matrix<T>& from, int64_t row, int64_t rows, int64_t column,
                           int64_t columns, uint8_t& state) {
        std::vector<Sum> out(rows * columns);
        bool whole_rows = !from.transposed && from.format != CubeFormat::NZ;
        bool whole_columns = from.transposed && from.format != CubeFormat::NZ;
        auto read = [&](int64_t at, int64_t count, auto&& put) {
            auto span = from.is_global ? op.in(from.global, at, count) : op.in(from.local, at, count);
            if (!span.whole && state == 1) state = op.undefined_code();
            for (int64_t i = 0; i < count; ++i) put(i, static_cast<Sum>(span.data[i]));
        };
        if (whole_rows)
            for (int64_t i = 0; i < rows; ++i)
                read(from.at(row + i, column), columns, [&](int64_t j, Sum value) { out[i * columns + j] = value; });
        else if (whole_columns)
            for (int64_t j = 0; j < columns; ++j)
                read(from.at(row, column + j), rows, [&](int64_t i, Sum value) { out[i * columns + j] = value; });
        else
            for (int64_t i = 0; i < rows; ++i)
                for (int64_t j = 0; j < columns; ++j)
                    read(from.at(row + i, column + j), 1, [&](int64_t, Sum value) { out[i * columns + j] = value; });
        return out;
    }
    void multiply(const Where& where, int64_t row, int64_t rows, int64_t column, int64_t columns) {
        ::host_model::Instruction op(::host_model::Pipe::M, "Matmul", where);
        // The cube core has its own pipes: the object waits for the vector core's stores before.
        op.owner().barrier();
        op.check(m_ > 0 && n_ > 0 && k_ > 0, "argument",
                 ::host_model::text_of("Matmul of %lld x %lld x %lld", static_cast<long long>(m_),
                                       static_cast<long long>(n_), static_cast<long long>(k_)),
                 "Init the object with a tiling of its part, or call SetSingleShape");
        state_ = 1;
        auto a = block(op, a_, row, rows, 0, k_, state_);
        auto b = block(op, b_, 0, k_, column, columns, state_);
        result_.assign(rows * columns, Sum(0));
        if (has_bias_) {
            auto span = bias_.is_global ? op.in(bias_.global, column, columns) : op.in(bias_.local, column, columns);
            if (!span.whole) state_ = op.undefined_code();
            for (int64_t i = 0; i < rows; ++i)
                for (int64_t j = 0; j < columns; ++j) result_[i * columns + j] = static_cast<Sum>(span.data[j]);
        }
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t l = 0; l < k_; ++l) {
                Sum left = a[i * k_ + l];
                for (int64_t j = 0; j < columns; ++j) result_[i * columns + j] += left * b[l * columns + j];
            }
    }
    void store(const GlobalTensor<C>& c, int64_t row, int64_t rows, int64_t column, int64_t columns, int64_t stride,
               uint8_t atomic, const Where& where) {
        ::host_model::Instruction op(::host_model::Pipe::FIX, "Matmul", where);
        for (int64_t i = 0; i < rows; ++i) {
            auto to = op.out(c, (row + i) * stride + column, columns, atomic != 0);
            std::unique_lock<std::mutex> lock(::host_model::atomic_lock(to.data), std::defer_lock);
            if (atomic) lock.lock();
            for (int64_t j = 0; j < columns; ++j) {
                Sum value = result_[i * columns + j], before = atomic ? static_cast<Sum>(to.data[j]) : Sum(0);
                if (atomic == 1) value += before;
                if (atomic == 2) value = std::max(value, before);
                if (atomic == 3) value = std::min(value, before);
                to.data[j] = static_cast<C>(value);
                if (!atomic) op.set(to, j, state_);
            }
        }
        op.owner().barrier();
    }
    void store_local(const LocalTensor<C>& c, int64_t rows, int64_t columns, const Where& where) {
        ::host_model::Instruction op(::host_model::Pipe::FIX, "Matmul", where);
        ::host_model::Matrix<C> to;
        to.format = C_TYPE::format;
        to.stride = C_TYPE::format == CubeFormat::ND ? columns : local_width<C>(columns);
        to.rows = rows;
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j) {
                auto span = op.out(c, to.at(i, j), 1);
                span.data[0] = static_cast<C>(result_[i * columns + j]);
                op.set(span, 0, state_);
            }
        op.owner().barrier();
    }

    ::host_model::Matrix<A> a_;
    ::host_model::Matrix<B> b_;
    ::host_model::Matrix<Bias> bias_;
    bool has_bias_ = false;
    int64_t m_ = 0, n_ = 0, k_ = 0, org_m_ = 0, org_n_ = 0, org_ka_ = 0, org_kb_ = 0, org_kc_ = 0;
    int64_t position_ = 0, row_ = 0, column_ = 0, height_ = 0, width_ = 0;
    std::vector<Sum> result_;
    uint8_t state_ = 1;
};
template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE, const auto& MM_CFG = CFG_NORM, class... Callbacks>
using MatmulImpl = Matmul<A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE, MM_CFG, Callbacks...>;

} // namespace AscendC

namespace matmul {
using namespace AscendC;
} // namespace matmul

namespace host_model {
inline void register_matmuls() {}
template <class M, class Tiling, class... Rest> void register_matmuls(M& matmul, Tiling&& tiling, Rest&&... rest);
template <class M> void register_matmuls(M&) {}
template <class M, class Tiling, class... Rest>
void register_matmuls(M& matmul, Tiling&& tiling, Rest&&... rest) {
    if constexpr (std::is_pointer<std::decay_t<Tiling>>::value) {
        matmul.set_tiling(*tiling);
        register_matmuls(rest...);
    } else {
        matmul.set_tiling(tiling);
        register_matmuls(rest...);
    }
}
} // namespace host_model
#define REGIST_MATMUL_OBJ(pipe, workspace, ...) ::host_model::register_matmuls(__VA_ARGS__)
