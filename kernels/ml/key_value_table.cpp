#include "kernels/ml/key_value_table.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "kernels/common/visit_dtype.h"

namespace ondine::kernels {
namespace {

using NumberKeys = Types<std::int64_t, std::int32_t, std::int16_t, float, double>;
using Values = Types<std::int64_t, std::int32_t, std::int16_t, float, double, std::string>;

// Equal for equal keys.
template <class T>
std::uint64_t code_of(T x, KeyIndex::Floats floats) {
  if constexpr (std::is_floating_point_v<T>) {
    if (floats == KeyIndex::Floats::by_value) {
      if (std::isnan(x)) x = std::numeric_limits<T>::quiet_NaN();
      if (x == 0) x = 0;
    }
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    return std::bit_cast<Bits>(x);
  } else {
    return static_cast<std::uint64_t>(x);
  }
}

template <class Map, class Key>
void insert(Map& map, const Key& key, std::int64_t position, KeyIndex::Repeated repeated) {
  const auto [entry, added] = map.try_emplace(key, position);
  if (!added && repeated == KeyIndex::Repeated::last) entry->second = position;
}

template <class Map, class Key>
std::int64_t position_in(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? -1 : found->second;
}

}  // namespace

KeyIndex::KeyIndex(const Tensor& keys, Repeated repeated, Floats floats)
    : dtype_(keys.dtype()), repeated_(repeated), floats_(floats) {
  std::int64_t position = 0;
  if (dtype_ == DType::string) {
    for (const auto& key : keys.values<std::string>()) insert(texts_, key, position++, repeated_);
    return;
  }
  visit(dtype_, NumberKeys{}, [&]<class T>() {
    for (const T key : keys.values<T>()) {
      insert(numbers_, code_of(key, floats_), position++, repeated_);
    }
  });
}

void KeyIndex::find(const void* elements, std::int64_t n, std::int64_t* positions) const {
  if (dtype_ == DType::string) {
    const auto* x = static_cast<const std::string*>(elements);
    for (std::int64_t i = 0; i < n; ++i) positions[i] = position_in(texts_, x[i]);
    return;
  }
  visit(dtype_, NumberKeys{}, [&]<class T>() {
    const T* x = static_cast<const T*>(elements);
    for (std::int64_t i = 0; i < n; ++i) {
      positions[i] = position_in(numbers_, code_of(x[i], floats_));
    }
  });
}

graph::Kernel bind_lookup(graph::BindContext& context, const LookupTable& table) {
  if (table.keys.size() != table.values.size()) {
    fail(ErrorCode::invalid_model, table.keys.size(), " keys and ", table.values.size(), " values");
  }
  if (context.dtype(0) != table.keys.dtype()) {
    fail(ErrorCode::mismatch, "x has dtype ", context.dtype(0), ", the keys have ",
         table.keys.dtype());
  }
  const std::int64_t n = context.shape(0).size();
  const std::size_t size = size_of(context.dtype(0));
  const KeyIndex index(table.keys, table.repeated, table.floats);
  return visit(table.values.dtype(), Values{}, [&]<class T>() -> graph::Kernel {
    return [=](graph::KernelContext& call) {
      const auto* x = call.in<std::byte>(0);
      T* y = call.out<T>(0);
      const auto values = table.values.values<T>();
      const T& otherwise = table.otherwise.values<T>()[0];
      constexpr std::int64_t block = 256;
      call.pool().for_chunks(n, block, [&](std::int64_t first, std::int64_t last) {
        std::int64_t positions[block];
        index.find(x + static_cast<std::size_t>(first) * size, last - first, positions);
        for (auto i = first; i < last; ++i) {
          const std::int64_t at = positions[i - first];
          y[i] = at < 0 ? otherwise : values[static_cast<std::size_t>(at)];
        }
      });
    };
  });
}

}  // namespace ondine::kernels
