// Tiling of a Matmul object in host code: how its matrices are divided among cores.
#pragma once

#include <algorithm>

#include "platform.h"
#include "tiling_data.h"

namespace matmul_tiling {

enum class TPosition { GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC, LCM = VECCALC, SPM, SHM = SPM, TSCM, MAX };
enum class CubeFormat { ND = 0, NZ, ZN, ZZ, NN, VECTOR, SCALAR, ND_ALIGN };
enum class DataType { DT_FLOAT = 0, DT_FLOAT16 = 1, DT_INT8 = 2, DT_INT32 = 3, DT_INT4 = 29, DT_BF16 = 27, DT_BFLOAT16 = 27 };
enum class MatrixTraverse { NOSET = 0, FIRSTM = 1, FIRSTN = 2 };
enum class ScheduleType { INNER_PRODUCT = 0, OUTER_PRODUCT = 1 };
enum class MatrixMadType { NORMAL = 0, HF32 = 1 };
enum class DequantType { SCALAR = 0, TENSOR = 1 };

class MatmulApiTilingBase {
public:
    MatmulApiTilingBase() = default;
    explicit MatmulApiTilingBase(const platform_ascendc::PlatformAscendC&) {}
    int32_t SetAType(TPosition, CubeFormat, DataType type, bool = false) { return a_ = type, 0; }
    int32_t SetBType(TPosition, CubeFormat, DataType, bool = false) { return 0; }
    int32_t SetCType(TPosition, CubeFormat, DataType) { return 0; }
    int32_t SetBiasType(TPosition, CubeFormat, DataType) { return 0; }
    int32_t SetShape(int32_t m, int32_t n, int32_t k) { return m_ = m, n_ = n, k_ = k, 0; }
    int32_t SetOrgShape(int32_t m, int32_t n, int32_t k) { return SetOrgShape(m, n, k, k); }
    int32_t SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb) {
        return org_m_ = m, org_n_ = n, org_ka_ = ka, org_kb_ = kb, 0;
    }
    int32_t SetBias(bool value) { return bias_ = value, 0; }
    int32_t EnableBias(bool value) { return SetBias(value); }
    int32_t SetBufferSpace(int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1) { return 0; }
    int32_t SetFixSplit(int32_t m = -1, int32_t n = -1, int32_t k = -1) { return base_m_ = m, base_n_ = n, base_k_ = k, 0; }
    int32_t SetTraverse(MatrixTraverse value) { return order_ = value == MatrixTraverse::FIRSTN, 0; }
    int32_t SetMadType(MatrixMadType) { return 0; }
    int32_t SetDequantType(DequantType) { return 0; }
    int32_t SetDoubleBuffer(bool, bool, bool, bool, bool = true, bool = true) { return 0; }
    template <class... T> int32_t SetMatmulConfigParams(const T&...) { return 0; }
    template <class... T> int32_t SetSplitRange(T...) { return 0; }
    int32_t GetBaseM() const { return chosen_m_; }
    int32_t GetBaseN() const { return chosen_n_; }
    int32_t GetBaseK() const { return chosen_k_; }

protected:
    // Fills the tiling for a core's part; returns -1 if the sizes are not set.
    int64_t fill(optiling::TCubeTiling& out, int32_t cores, int32_t m, int32_t n, int32_t k) {
        if (m <= 0 || n <= 0 || k <= 0) return -1;
        auto rounded = [](int32_t value) { return (value + 15) / 16 * 16; };
        chosen_m_ = base_m_ > 0 ? base_m_ : std::min(rounded(m), 128);
        chosen_n_ = base_n_ > 0 ? base_n_ : std::min(rounded(n), 128);
        chosen_k_ = base_k_ > 0 ? base_k_ : std::min(rounded(k), 64);
        out = {};
        out.usedCoreNum = cores;
        out.M = org_m_ ? org_m_ : m_;
        out.N = org_n_ ? org_n_ : n_;
        out.Ka = org_ka_ ? org_ka_ : k_;
        out.Kb = org_kb_ ? org_kb_ : k_;
        out.singleCoreM = m;
        out.singleCoreN = n;
        out.singleCoreK = k;
        out.baseM = chosen_m_;
        out.baseN = chosen_n_;
        out.baseK = chosen_k_;
        out.isBias = bias_;
        out.iterateOrder = order_;
        out.depthA1 = out.depthB1 = out.stepM = out.stepN = out.stepKa = out.stepKb = 1;
        out.dbL0A = out.dbL0B = 2;
        out.dbL0C = 1;
        return 0;
    }
    int32_t m_ = 0, n_ = 0, k_ = 0, org_m_ = 0, org_n_ = 0, org_ka_ = 0, org_kb_ = 0;
    int32_t base_m_ = -1, base_n_ = -1, base_k_ = -1, chosen_m_ = 0, chosen_n_ = 0, chosen_k_ = 0, order_ = 0;
    bool bias_ = false;
    DataType a_ = DataType::DT_FLOAT16;
};

class MatmulApiTiling : public MatmulApiTilingBase {
public:
    using MatmulApiTilingBase::MatmulApiTilingBase;
    int32_t SetSingleShape(int32_t m, int32_t n, int32_t k) { return SetShape(m, n, k); }
    int64_t GetTiling(optiling::TCubeTiling& out) { return fill(out, 1, m_, n_, k_); }
};

class MultiCoreMatmulTiling : public MatmulApiTilingBase {
public:
    using MatmulApiTilingBase::MatmulApiTilingBase;
    int32_t SetDim(int32_t cores) { return dim_ = cores, 0; }
    int32_t SetSingleShape(int32_t m = -1, int32_t n = -1, int32_t k = -1) { return single_m_ = m, single_n_ = n, single_k_ = k, 0; }
    int32_t SetSingleRange(int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1) { return 0; }
    int32_t SetAlignSplit(int32_t m, int32_t n, int32_t) { return align_m_ = std::max(m, 1), align_n_ = std::max(n, 1), 0; }
    int32_t EnableMultiCoreSplitK(bool) { return 0; }
    int64_t GetTiling(optiling::TCubeTiling& out) {
        divide();
        return fill(out, m_dim_ * n_dim_, part_m_, part_n_, single_k_ > 0 ? single_k_ : k_);
    }
    int32_t GetCoreNum(int32_t& dim, int32_t& m, int32_t& n) {
        divide();
        return m = m_dim_, n = n_dim_, dim = m * n, 0;
    }
    int32_t GetSingleShape(int32_t& m, int32_t& n, int32_t& k) { return divide(), m = part_m_, n = part_n_, k = k_, 0; }

private:
    // Divides M and N so that all cores have work and the parts are nearly square.
    void divide() {
        auto part = [](int32_t size, int32_t parts, int32_t step) {
            int32_t one = (size + parts - 1) / parts;
            return std::max((one + step - 1) / step * step, 1);
        };
        int64_t best = -1;
        for (int32_t m = 1; m <= std::max(dim_, 1); ++m) {
            int32_t n = std::max(dim_ / m, 1);
            int32_t height = single_m_ > 0 ? single_m_ : part(m_, m, align_m_);
            int32_t width = single_n_ > 0 ? single_n_ : part(n_, n, align_n_);
            int64_t cost = int64_t(height) * width * 64 + height + width;
            if (best >= 0 && cost >= best) continue;
            best = cost;
            part_m_ = std::min(height, std::max(m_, 1));
            part_n_ = std::min(width, std::max(n_, 1));
            m_dim_ = (m_ + part_m_ - 1) / part_m_;
            n_dim_ = (n_ + part_n_ - 1) / part_n_;
        }
    }
    int32_t dim_ = 1, single_m_ = -1, single_n_ = -1, single_k_ = -1, align_m_ = 16, align_n_ = 16;
    int32_t m_dim_ = 1, n_dim_ = 1, part_m_ = 0, part_n_ = 0;
};

} // namespace matmul_tiling
