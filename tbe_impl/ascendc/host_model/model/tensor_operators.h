// Operators of tensors: `dst = a + b` and `dst = a < b`.
#pragma once

#include "compare.h"

namespace AscendC {

// `dst = a + b` and `dst = a < b` on whole tensors: as many elements as the destination has.
#define HOST_MODEL_OPERATOR(SYMBOL, NAME)                                                          \
    template <class T> auto operator SYMBOL(const LocalTensor<T>& a, const LocalTensor<T>& b) {    \
        return ::host_model::tensor_expression(                                                    \
            [a, b](const LocalTensor<T>& dst, const ::host_model::Where& where) {                  \
                NAME(dst, a, b, static_cast<int64_t>(dst.GetSize()), where);                       \
            });                                                                                    \
    }
HOST_MODEL_OPERATOR(+, Add)
HOST_MODEL_OPERATOR(-, Sub)
HOST_MODEL_OPERATOR(*, Mul)
HOST_MODEL_OPERATOR(/, Div)
HOST_MODEL_OPERATOR(&, And)
HOST_MODEL_OPERATOR(|, Or)
#define HOST_MODEL_COMPARISON(SYMBOL, MODE)                                                        \
    template <class T> auto operator SYMBOL(const LocalTensor<T>& a, const LocalTensor<T>& b) {    \
        return ::host_model::tensor_expression(                                                    \
            [a, b](const auto& dst, const ::host_model::Where& where) {                            \
                Compare(dst, a, b, CMPMODE::MODE, static_cast<int64_t>(a.GetSize()), where);       \
            });                                                                                    \
    }
HOST_MODEL_COMPARISON(<, LT)
HOST_MODEL_COMPARISON(>, GT)
HOST_MODEL_COMPARISON(<=, LE)
HOST_MODEL_COMPARISON(>=, GE)
HOST_MODEL_COMPARISON(==, EQ)
HOST_MODEL_COMPARISON(!=, NE)

} // namespace AscendC
