// Normalisations of the library: over rows, groups and batches, with their gradients.
//
// This module exceeds 500 lines because its functions share moments, rows and checks, and half of
// it are their documented signatures.
#pragma once

#include "library_rows.h"

namespace AscendC {

enum class DataFormat : uint8_t { ND = 0, NZ, NCHW, NC1HWC0, NHWC, NCDHW, NDC1HWC0 };
struct LayerNormGradShapeInfo {
    DataFormat dataFormat = DataFormat::ND;
};
struct LayerNormConfig {
    bool isNoBeta = false, isNoGamma = false, isOnlyOutput = false, isOutputRstd = true;
};
inline constexpr LayerNormConfig LNCFG_NORM = {};
struct LayerNormPara {
    uint32_t aLength, rLength, rLengthWithPadding;
};
struct NormalizeConfig {
    ReducePattern reducePattern = ReducePattern::AR;
    int32_t aLength = -1;
    bool isNoBeta = false, isNoGamma = false, isOnlyOutput = false;
};
inline constexpr NormalizeConfig NLCFG_NORM = {};
struct NormalizePara {
    uint32_t aLength, rLength, rLengthWithPadding;
};
struct WelfordUpdateConfig {
    bool isInplace = false;
};
inline constexpr WelfordUpdateConfig WFUPDATE_DEFAULT_CFG = {false};
struct WelfordUpdateParam {
    uint32_t rnLength, abLength, abComputeLength;
    float nRec;
};
struct WelfordFinalizeConfig {
    bool isCorrection = false;
};
inline constexpr WelfordFinalizeConfig WFFINALIZE_DEFAULT_CFG = {false};
struct WelfordFinalizePara {
    uint32_t rnLength, abLength, headCount, headCountLength, tailCount, tailCountLength;
    float abRec, rRec, rRecWithCorrection = 0;
};

} // namespace AscendC

namespace host_model {

struct Moments {
    float mean, variance;
};
// Mean and variance of values, by tree sums.
inline Moments moments_of(std::vector<float> values) {
    auto count = static_cast<int64_t>(values.size());
    float mean = tree_sum(values.data(), count) / static_cast<float>(count);
    for (float& one : values) one = (one - mean) * (one - mean);
    return {mean, tree_sum(values.data(), count) / static_cast<float>(count)};
}
template <class T> std::vector<float> floats_of(const Span<T>& span) {
    return std::vector<float>(span.data, span.data + span.count);
}
inline float reciprocal_root(float variance, float epsilon) {
    return 1 / std::sqrt(variance + epsilon);
}
// Writes one element whose state follows from all elements of the sources.
template <class T, class... Sources>
void put_element(Instruction& op, const AscendC::LocalTensor<T>& to, int64_t index, float value,
                 const Sources&... sources) {
    auto out = op.out(to, index, 1);
    out.data[0] = static_cast<T>(value);
    op.derive_all(out, sources...);
}

// Sizes of a normalisation over the rows of [B, S, H] or [A, R]: rows of `width` elements, of which
// `real` count.
struct NormRows {
    int64_t rows, width, real;
};
template <class Tiling> NormRows norm_rows(const Tiling& tiling) {
    int64_t width = tiling.hLength;
    return {int64_t(tiling.bLength) * tiling.sLength, width,
            tiling.originalHLength ? tiling.originalHLength : width};
}
template <class T>
Instruction begin_norm(const char* name, const NormRows& rows, int temporaries, bool hidden,
                       const Where& where) {
    Instruction op(Pipe::V, name, where);
    op.check(rows.rows > 0 && rows.width > 0 && rows.real <= rows.width, "argument",
             text_of("%s: %lld rows of %lld elements, of which %lld are real", name,
                     static_cast<long long>(rows.rows), static_cast<long long>(rows.width),
                     static_cast<long long>(rows.real)),
             "fill the tiling structure with the function for it in host code");
    op.check(rows.width * sizeof(T) % BLOCK_BYTES == 0, "alignment",
             text_of("%s: rows of %lld elements are %lld bytes, no multiple of 32", name,
                     static_cast<long long>(rows.width),
                     static_cast<long long>(rows.width * sizeof(T))),
             "pad the rows to whole blocks of 32 bytes");
    if (hidden)
        take_workspace(name, row_workspace(temporaries, static_cast<uint64_t>(rows.width)), where);
    return op;
}

// y = (x - mean) * factor * gamma + beta for one row; gamma and beta may be null.
template <class T, class U>
void normalize_row(const Span<T>& to, const std::vector<float>& x, float mean, float factor,
                   const Span<U>* gamma, const Span<U>* beta) {
    for (int64_t i = 0; i < to.count; ++i) {
        float value = (x[i] - mean) * factor;
        if (gamma) value *= float(gamma->data[i]);
        if (beta) value += float(beta->data[i]);
        to.data[i] = static_cast<T>(value);
    }
}

// What a layer normalisation stores beside its result.
enum class SecondMoment { VARIANCE, RECIPROCAL_ROOT };

// Layer normalisation of x, or of alpha * x + residual.
template <SecondMoment second, class T, class U, class M>
void layer_norm(const char* name, const AscendC::LocalTensor<T>& output,
                const AscendC::LocalTensor<M>* mean_out, const AscendC::LocalTensor<M>* second_out,
                const AscendC::LocalTensor<T>& input, const AscendC::LocalTensor<T>* residual,
                float alpha, const AscendC::LocalTensor<U>* gamma,
                const AscendC::LocalTensor<U>* beta, float epsilon, const NormRows& rows,
                int temporaries, bool hidden, const Where& where) {
    Instruction op = begin_norm<T>(name, rows, temporaries, hidden, where);
    Span<U> scale{}, shift{};
    uint8_t state = 1;
    if (gamma) scale = op.in(*gamma, 0, rows.real, 1, "gamma"), state = state_of(scale);
    if (beta) shift = op.in(*beta, 0, rows.real, 1, "beta");
    if (beta && state == 1) state = state_of(shift);
    for (int64_t row = 0; row < rows.rows; ++row) {
        auto from = op.in(input, row * rows.width, rows.real, 1, "the source");
        std::vector<float> x = floats_of(from);
        uint8_t own = state_of(from);
        if (residual) {
            auto more = op.in(*residual, row * rows.width, rows.real, 1, "the second source");
            for (int64_t i = 0; i < rows.real; ++i) x[i] = alpha * x[i] + float(more.data[i]);
            if (own == 1) own = state_of(more);
        }
        Moments moments = moments_of(x);
        float factor = reciprocal_root(moments.variance, epsilon);
        auto to = op.out(output, row * rows.width, rows.real);
        normalize_row(to, x, moments.mean, factor, gamma ? &scale : nullptr,
                      beta ? &shift : nullptr);
        for (int64_t i = 0; i < rows.real; ++i) op.set(to, i, own == 1 ? state : own);
        if (!mean_out) continue;
        auto mean = op.out(*mean_out, row, 1), other = op.out(*second_out, row, 1);
        mean.data[0] = static_cast<M>(moments.mean);
        other.data[0] =
            static_cast<M>(second == SecondMoment::VARIANCE ? moments.variance : factor);
        op.set(mean, 0, own);
        op.set(other, 0, own);
    }
}

template <class T>
void rms_norm(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
              const AscendC::LocalTensor<T>& gamma, float epsilon, const NormRows& rows,
              bool hidden, const Where& where) {
    Instruction op = begin_norm<T>("RmsNorm", rows, temporaries::RmsNorm, hidden, where);
    auto scale = op.in(gamma, 0, rows.real, 1, "gamma");
    for (int64_t row = 0; row < rows.rows; ++row) {
        auto from = op.in(src, row * rows.width, rows.real, 1, "the source");
        auto x = floats_of(from);
        std::vector<float> squares(x);
        for (float& one : squares) one *= one;
        float mean = tree_sum(squares.data(), rows.real) / static_cast<float>(rows.real);
        auto to = op.out(dst, row * rows.width, rows.real);
        normalize_row<T, T>(to, x, 0, reciprocal_root(mean, epsilon), &scale, nullptr);
        op.derive_all(to, from, scale);
    }
}

template <class T>
void layer_norm_grad(const AscendC::LocalTensor<T>& pd_x, const AscendC::LocalTensor<T>& res,
                     const AscendC::LocalTensor<T>& dy, const AscendC::LocalTensor<T>& input,
                     const AscendC::LocalTensor<T>& variance, const AscendC::LocalTensor<T>& mean,
                     const AscendC::LocalTensor<T>& gamma, float epsilon, const NormRows& rows,
                     bool hidden, const Where& where) {
    Instruction op =
        begin_norm<T>("LayerNormGrad", rows, temporaries::LayerNormGrad, hidden, where);
    auto scale = op.in(gamma, 0, rows.real, 1, "gamma");
    int64_t n = rows.real;
    std::vector<float> centred(n), slope(n), terms(n);
    for (int64_t row = 0; row < rows.rows; ++row) {
        auto x = op.in(input, row * rows.width, n, 1, "the source");
        auto grad = op.in(dy, row * rows.width, n, 1, "the gradient");
        auto second = op.in(variance, row, 1, 1, "the variance");
        auto first = op.in(mean, row, 1, 1, "the mean");
        float factor = reciprocal_root(float(second.data[0]), epsilon);
        auto sum = [&](auto&& term) {
            for (int64_t i = 0; i < n; ++i) terms[i] = term(i);
            return tree_sum(terms.data(), n);
        };
        for (int64_t i = 0; i < n; ++i) {
            centred[i] = float(x.data[i]) - float(first.data[0]);
            slope[i] = float(grad.data[i]) * float(scale.data[i]);
        }
        float cube = factor * factor * factor;
        float pd_variance = sum([&](int64_t i) { return -0.5f * slope[i] * centred[i] * cube; });
        float pd_mean = sum([&](int64_t i) { return -slope[i] * factor; }) +
                        pd_variance / n * sum([&](int64_t i) { return -2 * centred[i]; });
        auto out = op.out(pd_x, row * rows.width, n), normal = op.out(res, row * rows.width, n);
        for (int64_t i = 0; i < n; ++i) {
            out.data[i] = static_cast<T>(slope[i] * factor + pd_variance * 2 / n * centred[i] +
                                         pd_mean / n);
            normal.data[i] = static_cast<T>(centred[i] * factor);
        }
        op.derive_all(out, x, grad, second, first, scale);
        op.derive_all(normal, x, second, first);
    }
}

// Sums over all rows: of grad * res for gamma, of grad for beta.
template <class T>
void layer_norm_grad_beta(const AscendC::LocalTensor<T>& pd_gamma,
                          const AscendC::LocalTensor<T>& pd_beta,
                          const AscendC::LocalTensor<T>& res, const AscendC::LocalTensor<T>& dy,
                          const NormRows& rows, bool hidden, const Where& where) {
    Instruction op =
        begin_norm<T>("LayerNormGradBeta", rows, temporaries::LayerNormGradBeta, hidden, where);
    std::vector<float> scale(rows.real), shift(rows.real);
    uint8_t state = 1;
    for (int64_t row = 0; row < rows.rows; ++row) {
        auto normal = op.in(res, row * rows.width, rows.real);
        auto grad = op.in(dy, row * rows.width, rows.real, 1, "the gradient");
        for (int64_t i = 0; i < rows.real; ++i) {
            scale[i] += float(grad.data[i]) * float(normal.data[i]);
            shift[i] += float(grad.data[i]);
        }
        if (state == 1) state = state_of(normal);
        if (state == 1) state = state_of(grad);
    }
    auto gamma = op.out(pd_gamma, 0, rows.real), beta = op.out(pd_beta, 0, rows.real);
    for (int64_t i = 0; i < rows.real; ++i) {
        gamma.data[i] = static_cast<T>(scale[i]);
        beta.data[i] = static_cast<T>(shift[i]);
        op.set(gamma, i, state);
        op.set(beta, i, state);
    }
}

// Normalises each group of C / G channels of [N, C, HW] with the channels' gamma and beta.
template <class T>
void group_norm(const AscendC::LocalTensor<T>& output, const AscendC::LocalTensor<T>& mean,
                const AscendC::LocalTensor<T>& variance, const AscendC::LocalTensor<T>& input,
                const AscendC::LocalTensor<T>& gamma, const AscendC::LocalTensor<T>& beta,
                float epsilon, const AscendC::GroupNormTiling& tiling, bool hidden,
                const Where& where) {
    Instruction op(Pipe::V, "GroupNorm", where);
    op.check(tiling.g > 0 && tiling.c % tiling.g == 0, "argument",
             text_of("GroupNorm: %u channels in %u groups", tiling.c, tiling.g),
             "the number of channels is a multiple of that of the groups");
    int64_t channels = tiling.c / tiling.g, pixels = tiling.hw, count = channels * pixels;
    if (hidden)
        take_workspace("GroupNorm", row_workspace(temporaries::GroupNorm, count), where);
    auto scale = op.in(gamma, 0, tiling.c, 1, "gamma"), shift = op.in(beta, 0, tiling.c, 1, "beta");
    for (int64_t group = 0; group < int64_t(tiling.n) * tiling.g; ++group) {
        auto from = op.in(input, group * count, count, 1, "the source");
        auto x = floats_of(from);
        Moments moments = moments_of(x);
        float factor = reciprocal_root(moments.variance, epsilon);
        auto to = op.out(output, group * count, count);
        for (int64_t i = 0; i < count; ++i) {
            int64_t channel = group % tiling.g * channels + i / pixels;
            to.data[i] = static_cast<T>((x[i] - moments.mean) * factor *
                                            float(scale.data[channel]) +
                                        float(shift.data[channel]));
        }
        op.derive_all(to, from, scale, shift);
        put_element(op, mean, group, moments.mean, from);
        put_element(op, variance, group, moments.variance, from);
    }
}

// Normalises each feature over the batch; gamma and beta belong to the elements of the batch.
template <class T>
void batch_norm(const AscendC::LocalTensor<T>& output, const AscendC::LocalTensor<T>& mean,
                const AscendC::LocalTensor<T>& variance, const AscendC::LocalTensor<T>& input,
                const AscendC::LocalTensor<T>& gamma, const AscendC::LocalTensor<T>& beta,
                float epsilon, const AscendC::BatchNormTiling& tiling, bool hidden,
                const Where& where) {
    int64_t batch = tiling.originalBLength, features = tiling.meanVarSize;
    Instruction op = begin_norm<T>("BatchNorm", {batch, features, features},
                                   temporaries::BatchNorm, hidden, where);
    auto scale = op.in(gamma, 0, batch, 1, "gamma"), shift = op.in(beta, 0, batch, 1, "beta");
    auto from = op.in(input, 0, batch * features, 1, "the source");
    auto all = floats_of(from);
    auto to = op.out(output, 0, batch * features);
    auto means = op.out(mean, 0, features), variances = op.out(variance, 0, features);
    std::vector<float> x(batch);
    for (int64_t i = 0; i < features; ++i) {
        for (int64_t b = 0; b < batch; ++b) x[b] = all[b * features + i];
        Moments moments = moments_of(x);
        float factor = reciprocal_root(moments.variance, epsilon);
        for (int64_t b = 0; b < batch; ++b)
            to.data[b * features + i] = static_cast<T>(
                (x[b] - moments.mean) * factor * float(scale.data[b]) + float(shift.data[b]));
        means.data[i] = static_cast<T>(moments.mean);
        variances.data[i] = static_cast<T>(moments.variance);
    }
    op.derive_all(to, from, scale, shift);
    op.derive_all(means, from);
    op.derive_all(variances, from);
}

// Mean and variance of all elements from those of the columns. `weight(i)` is the number of
// elements that column i stands for.
template <class F>
void welford_finalize(Instruction& op, const AscendC::LocalTensor<float>& mean_out,
                      const AscendC::LocalTensor<float>& variance_out,
                      const AscendC::LocalTensor<float>& means,
                      const AscendC::LocalTensor<float>& seconds, F&& weight, float reciprocal,
                      const AscendC::WelfordFinalizePara& para, bool corrected) {
    int64_t columns = para.abLength;
    auto first = op.in(means, 0, columns, 1, "the means");
    auto second = op.in(seconds, 0, columns, 1, "the variances");
    std::vector<float> terms(columns);
    for (int64_t i = 0; i < columns; ++i) terms[i] = weight(i) * first.data[i];
    float mean = tree_sum(terms.data(), columns) * reciprocal;
    for (int64_t i = 0; i < columns; ++i) {
        float distance = first.data[i] - mean;
        terms[i] = second.data[i] + weight(i) * distance * distance;
    }
    float variance =
        tree_sum(terms.data(), columns) * (corrected ? para.rRecWithCorrection : reciprocal);
    put_element(op, mean_out, 0, mean, first);
    put_element(op, variance_out, 0, variance, first, second);
}

} // namespace host_model

namespace AscendC {

// The forms with a tensor for the work space, and with hidden work space.
#define HOST_MODEL_NORMS(SHARED, HIDDEN)                                                           \
    template <class T, bool isReuseSource = false>                                                 \
    void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean,                 \
                   const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,             \
                   const LocalTensor<T>& gamma, const LocalTensor<T>& beta SHARED,                 \
                   ::host_model::Scalar<T> epsilon, const LayerNormTiling& tiling,                 \
                   HOST_MODEL_WHERE) {                                                             \
        ::host_model::layer_norm<::host_model::SecondMoment::VARIANCE, T, T, T>(                   \
            "LayerNorm", output, &outputMean, &outputVariance, inputX, nullptr, 1, &gamma, &beta,  \
            float(epsilon), ::host_model::norm_rows(tiling),                                       \
            ::host_model::temporaries::LayerNorm, HIDDEN, where);                                  \
    }                                                                                              \
    template <class U, class T, bool isReuseSource = false,                                        \
              const LayerNormConfig& config = LNCFG_NORM>                                          \
    void LayerNorm(const LocalTensor<T>& output, const LocalTensor<float>& outputMean,             \
                   const LocalTensor<float>& outputRstd, const LocalTensor<T>& inputX,             \
                   const LocalTensor<U>& gamma, const LocalTensor<U>& beta, float epsilon SHARED,  \
                   const LayerNormPara& para, const LayerNormSeparateTiling& tiling,               \
                   HOST_MODEL_WHERE) {                                                             \
        (void)tiling;                                                                              \
        constexpr auto second = config.isOutputRstd                                                \
                                    ? ::host_model::SecondMoment::RECIPROCAL_ROOT                  \
                                    : ::host_model::SecondMoment::VARIANCE;                        \
        ::host_model::layer_norm<second, T, U, float>(                                             \
            "LayerNorm", output, config.isOnlyOutput ? nullptr : &outputMean, &outputRstd, inputX, \
            nullptr, 1, config.isNoGamma ? nullptr : &gamma, config.isNoBeta ? nullptr : &beta,    \
            epsilon, {para.aLength, para.rLengthWithPadding, para.rLength},                        \
            ::host_model::temporaries::LayerNorm, HIDDEN, where);                                  \
    }                                                                                              \
    template <class T, bool isReuseSrc = false, bool isBasicBlock = false>                         \
    void DeepNorm(const LocalTensor<T>& dst, const LocalTensor<T>& meanLocal,                      \
                  const LocalTensor<T>& rstdLocal, const LocalTensor<T>& src,                      \
                  const LocalTensor<T>& gxLocal, const LocalTensor<T>& betaLocal,                  \
                  const LocalTensor<T>& gammaLocal SHARED, ::host_model::Scalar<T> alpha,          \
                  ::host_model::Scalar<T> epsilon, const DeepNormTiling& tiling,                   \
                  HOST_MODEL_WHERE) {                                                              \
        ::host_model::layer_norm<::host_model::SecondMoment::RECIPROCAL_ROOT, T, T, T>(            \
            "DeepNorm", dst, &meanLocal, &rstdLocal, src, &gxLocal, float(alpha), &gammaLocal,     \
            &betaLocal, float(epsilon), ::host_model::norm_rows(tiling),                           \
            ::host_model::temporaries::DeepNorm, HIDDEN, where);                                   \
    }                                                                                              \
    template <class T, bool isBasicBlock = false>                                                  \
    void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src,                             \
                 const LocalTensor<T>& gamma SHARED, ::host_model::Scalar<T> epsilon,              \
                 const RmsNormTiling& tiling, HOST_MODEL_WHERE) {                                  \
        ::host_model::rms_norm(dst, src, gamma, float(epsilon), ::host_model::norm_rows(tiling),   \
                               HIDDEN, where);                                                     \
    }                                                                                              \
    template <class T, bool isReuseSource = false>                                                 \
    void LayerNormGrad(const LocalTensor<T>& outputPdX, const LocalTensor<T>& resForGamma,         \
                       const LocalTensor<T>& inputDy, const LocalTensor<T>& inputX,                \
                       const LocalTensor<T>& inputVariance, const LocalTensor<T>& inputMean,       \
                       const LocalTensor<T>& inputGamma SHARED, ::host_model::Scalar<T> epsilon,   \
                       const LayerNormGradTiling& tiling,                                          \
                       const LayerNormGradShapeInfo& shapeInfo = {}, HOST_MODEL_WHERE) {           \
        (void)shapeInfo;                                                                           \
        ::host_model::layer_norm_grad(outputPdX, resForGamma, inputDy, inputX, inputVariance,      \
                                      inputMean, inputGamma, float(epsilon),                       \
                                      ::host_model::norm_rows(tiling), HIDDEN, where);             \
    }                                                                                              \
    template <class T, bool isReuseSource = false>                                                 \
    void LayerNormGradBeta(const LocalTensor<T>& outputPdGamma,                                    \
                           const LocalTensor<T>& outputPdBeta, const LocalTensor<T>& resForGamma,  \
                           const LocalTensor<T>& inputDy SHARED,                                   \
                           const LayerNormGradBetaTiling& tiling, HOST_MODEL_WHERE) {              \
        ::host_model::layer_norm_grad_beta(outputPdGamma, outputPdBeta, resForGamma, inputDy,      \
                                           ::host_model::norm_rows(tiling), HIDDEN, where);        \
    }                                                                                              \
    template <class T, bool isReuseSource = false>                                                 \
    void GroupNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean,                 \
                   const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,             \
                   const LocalTensor<T>& gamma, const LocalTensor<T>& beta SHARED,                 \
                   ::host_model::Scalar<T> epsilon, const GroupNormTiling& tiling,                 \
                   HOST_MODEL_WHERE) {                                                             \
        ::host_model::group_norm(output, outputMean, outputVariance, inputX, gamma, beta,          \
                                 float(epsilon), tiling, HIDDEN, where);                           \
    }                                                                                              \
    template <class T, bool isReuseSource = false, bool isBasicBlock = false>                      \
    void BatchNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean,                 \
                   const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,             \
                   const LocalTensor<T>& gamm, const LocalTensor<T>& beta SHARED,                  \
                   ::host_model::Scalar<T> epsilon, const BatchNormTiling& tiling,                 \
                   HOST_MODEL_WHERE) {                                                             \
        ::host_model::batch_norm(output, outputMean, outputVariance, inputX, gamm, beta,           \
                                 float(epsilon), tiling, HIDDEN, where);                           \
    }
HOST_MODEL_NORMS(HOST_MODEL_COMMA HOST_MODEL_SHARED, false)
HOST_MODEL_NORMS(, true)

// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta with the moments given.
template <class U, class T, bool isReuseSource = false, const NormalizeConfig& config = NLCFG_NORM>
void Normalize(const LocalTensor<T>& output, const LocalTensor<float>& outputRstd,
               const LocalTensor<float>& inputMean, const LocalTensor<float>& inputVariance,
               const LocalTensor<T>& inputX, const LocalTensor<U>& gamma,
               const LocalTensor<U>& beta, HOST_MODEL_SHARED, float epsilon,
               const NormalizePara& para, HOST_MODEL_WHERE) {
    int64_t rows = config.aLength > 0 ? config.aLength : para.aLength, real = para.rLength;
    int64_t width = para.rLengthWithPadding;
    auto op = ::host_model::begin_norm<T>("Normalize", {rows, width, real}, 0, false, where);
    ::host_model::Span<U> scale{nullptr, nullptr, 0, true}, shift = scale;
    if (!config.isNoGamma) scale = op.in(gamma, 0, real, 1, "gamma");
    if (!config.isNoBeta) shift = op.in(beta, 0, real, 1, "beta");
    for (int64_t row = 0; row < rows; ++row) {
        auto from = op.in(inputX, row * width, real, 1, "the source");
        auto mean = op.in(inputMean, row, 1, 1, "the mean");
        auto variance = op.in(inputVariance, row, 1, 1, "the variance");
        float factor = ::host_model::reciprocal_root(variance.data[0], epsilon);
        auto to = op.out(output, row * width, real);
        ::host_model::normalize_row(to, ::host_model::floats_of(from), mean.data[0], factor,
                                    config.isNoGamma ? nullptr : &scale,
                                    config.isNoBeta ? nullptr : &shift);
        op.derive_all(to, from, mean, variance, scale, shift);
        if (!config.isOnlyOutput)
            ::host_model::put_element(op, outputRstd, row, factor, variance);
    }
}
template <class U, class T, bool isReuseSource = false, const NormalizeConfig& config = NLCFG_NORM>
void Normalize(const LocalTensor<T>& output, const LocalTensor<float>& outputRstd,
               const LocalTensor<float>& inputMean, const LocalTensor<float>& inputVariance,
               const LocalTensor<T>& inputX, const LocalTensor<U>& gamma,
               const LocalTensor<U>& beta, float epsilon, const NormalizePara& para,
               HOST_MODEL_WHERE) {
    ::host_model::take_workspace(
        "Normalize",
        ::host_model::row_workspace(::host_model::temporaries::Normalize, para.rLengthWithPadding),
        where);
    Normalize<U, T, isReuseSource, config>(output, outputRstd, inputMean, inputVariance, inputX,
                                           gamma, beta, LocalTensor<uint8_t>(), epsilon, para,
                                           where);
}

// Welford's update of the columns' means and sums of squared distances by one more row.
template <class T, class U, bool isReuseSource = false,
          const WelfordUpdateConfig& config = WFUPDATE_DEFAULT_CFG>
void WelfordUpdate(const LocalTensor<U>& outputMean, const LocalTensor<U>& outputVariance,
                   const LocalTensor<U>& inputMean, const LocalTensor<U>& inputVariance,
                   const LocalTensor<T>& inputX, HOST_MODEL_SHARED, const WelfordUpdateParam& para,
                   HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "WelfordUpdate", where);
    ::host_model::check_alignment(op, outputMean, outputVariance, inputMean, inputVariance, inputX);
    int64_t columns = para.abComputeLength, kept = config.isInplace ? para.abLength : columns;
    auto x = op.in(inputX, 0, columns, 1, "the source");
    auto mean = op.in(inputMean, 0, kept, 1, "the means");
    auto second = op.in(inputVariance, 0, kept, 1, "the variances");
    auto mean_out = op.out(outputMean, 0, kept), second_out = op.out(outputVariance, 0, kept);
    for (int64_t i = 0; i < kept; ++i) {
        uint8_t state = mean.state(i) == 1 ? second.state(i) : mean.state(i);
        U before = mean.data[i], after = before, squares = second.data[i];
        if (i < columns) {
            U value = static_cast<U>(float(x.data[i]));
            after = before + (value - before) * para.nRec;
            squares += (value - before) * (value - after);
            if (state == 1) state = x.state(i);
        }
        mean_out.data[i] = after;
        second_out.data[i] = squares;
        op.set(mean_out, i, state);
        op.set(second_out, i, state);
    }
}
template <class T, class U, bool isReuseSource = false,
          const WelfordUpdateConfig& config = WFUPDATE_DEFAULT_CFG>
void WelfordUpdate(const LocalTensor<U>& outputMean, const LocalTensor<U>& outputVariance,
                   const LocalTensor<U>& inputMean, const LocalTensor<U>& inputVariance,
                   const LocalTensor<T>& inputX, const WelfordUpdateParam& para,
                   HOST_MODEL_WHERE) {
    ::host_model::take_workspace(
        "WelfordUpdate",
        ::host_model::row_workspace(::host_model::temporaries::WelfordUpdate, para.abLength),
        where);
    WelfordUpdate<T, U, isReuseSource, config>(outputMean, outputVariance, inputMean, inputVariance,
                                               inputX, LocalTensor<uint8_t>(), para, where);
}

// Joins the columns of WelfordUpdate: columns that stand for the same number of elements, for two
// numbers of them (head and tail), or for the counts that a tensor lists.
#define HOST_MODEL_WELFORD(NAME, SHARED, HIDDEN)                                                   \
    template <bool isReuseSource = false,                                                          \
              const WelfordFinalizeConfig& config = WFFINALIZE_DEFAULT_CFG>                        \
    void NAME(const LocalTensor<float>& outputMean, const LocalTensor<float>& outputVariance,      \
              const LocalTensor<float>& inputMean,                                                 \
              const LocalTensor<float>& inputVariance SHARED, const WelfordFinalizePara& para,     \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::Instruction op(::host_model::Pipe::V, #NAME, where);                         \
        op.check(para.headCountLength + para.tailCountLength == para.abLength, "argument",         \
                 ::host_model::text_of(#NAME ": headCountLength %u and tailCountLength %u of %u",  \
                                       para.headCountLength, para.tailCountLength, para.abLength), \
                 "both lengths together are abLength");                                            \
        if (HIDDEN)                                                                                \
            ::host_model::take_workspace(                                                          \
                #NAME,                                                                             \
                ::host_model::row_workspace(::host_model::temporaries::NAME, para.abLength),       \
                where);                                                                            \
        ::host_model::welford_finalize(                                                            \
            op, outputMean, outputVariance, inputMean, inputVariance,                              \
            [&](int64_t i) { return i < para.headCountLength ? para.headCount : para.tailCount; }, \
            para.rRec, para, config.isCorrection);                                                 \
    }                                                                                              \
    template <bool isReuseSource = false,                                                          \
              const WelfordFinalizeConfig& config = WFFINALIZE_DEFAULT_CFG>                        \
    void NAME(const LocalTensor<float>& outputMean, const LocalTensor<float>& outputVariance,      \
              const LocalTensor<float>& inputMean, const LocalTensor<float>& inputVariance,        \
              const LocalTensor<int32_t>& counts SHARED, const WelfordFinalizePara& para,          \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::Instruction op(::host_model::Pipe::V, #NAME, where);                         \
        if (HIDDEN)                                                                                \
            ::host_model::take_workspace(                                                          \
                #NAME,                                                                             \
                ::host_model::row_workspace(::host_model::temporaries::NAME, para.abLength),       \
                where);                                                                            \
        auto weights = op.in(counts, 0, para.abLength, 1, "the counts");                           \
        op.require(weights, "the counts");                                                         \
        ::host_model::welford_finalize(                                                            \
            op, outputMean, outputVariance, inputMean, inputVariance,                              \
            [&](int64_t i) { return float(weights.data[i]); }, para.rRec, para,                    \
            config.isCorrection);                                                                  \
    }
HOST_MODEL_WELFORD(WelfordFinalize, HOST_MODEL_COMMA HOST_MODEL_SHARED, false)
HOST_MODEL_WELFORD(WelfordFinalize, , true)

} // namespace AscendC
