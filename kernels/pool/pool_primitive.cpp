#include "kernels/pool/pool_primitive.h"

#include "kernels/pool/algorithms/algorithms.h"

namespace ondine::math {
namespace {

template <class T>
constexpr typename PoolPrimitive<T>::Entry list[] = {
    {"max_scatter", &supports_max_scatter, &make_max_scatter<T>},
    {"max_squares", &supports_max_squares, &make_max_squares<T>},
    {"max_lines", &supports_max_lines, &make_max_lines<T>},
    {"max_windows", &supports_max_windows, &make_max_windows<T>},
    {"max_rows", &supports_max_rows, &make_max_rows<T>},
    {"mean_global", &supports_mean_global, &make_mean_global<T>},
    {"sum_lines", &supports_sum_lines, &make_sum_lines<T>},
    {"sum_rows", &supports_sum_rows, &make_sum_rows<T>},
};

}  // namespace

template <class T>
PoolPrimitive<T>::PoolPrimitive(const PoolDesc& desc, const SimdTables& kernels)
    : Primitive<PoolDesc, PoolArgs<T>>(list<T>, desc, kernels) {}
template <class T>
PoolPrimitive<T>::PoolPrimitive(const PoolDesc& desc, std::string_view name,
                                const SimdTables& kernels)
    : Primitive<PoolDesc, PoolArgs<T>>(list<T>, name, desc, kernels) {}

template class PoolPrimitive<float>;
template class PoolPrimitive<double>;

}  // namespace ondine::math
