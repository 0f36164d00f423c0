// The implementations of pooling: for each, whether it supports a descriptor and how it is made.
#pragma once

#include <memory>

#include "kernels/pool/pool_primitive.h"

namespace ondine::math {

template <class T>
using MadePool = std::unique_ptr<const Implementation<PoolArgs<T>>>;

#define ONDINE_POOL_ALGORITHM(name)                                \
  bool supports_##name(const PoolDesc& desc, const SimdTables& k); \
  template <class T>                                               \
  MadePool<T> make_##name(const PoolDesc& desc, const SimdTables& kernels)

ONDINE_POOL_ALGORITHM(max_scatter);
ONDINE_POOL_ALGORITHM(max_squares);
ONDINE_POOL_ALGORITHM(max_lines);
ONDINE_POOL_ALGORITHM(max_windows);
ONDINE_POOL_ALGORITHM(max_rows);
ONDINE_POOL_ALGORITHM(mean_global);
ONDINE_POOL_ALGORITHM(sum_lines);
ONDINE_POOL_ALGORITHM(sum_rows);
#undef ONDINE_POOL_ALGORITHM

#define ONDINE_INSTANTIATE_POOL(name)                                              \
  template MadePool<float> make_##name<float>(const PoolDesc&, const SimdTables&); \
  template MadePool<double> make_##name<double>(const PoolDesc&, const SimdTables&)

}  // namespace ondine::math
