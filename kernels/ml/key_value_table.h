// A table from keys to values, applied element by element.
#pragma once

#include <unordered_map>

#include "graph/contract/kernel.h"

namespace ondine::kernels {

// Positions of the elements of `keys` (rank 1; integers, floats or strings).
class KeyIndex {
 public:
  enum class Repeated { first, last };  // which of equal keys counts
  // by_bits: floats are equal when their bits are. by_value: 0 equals -0 and all NaNs are equal.
  enum class Floats { by_value, by_bits };

  KeyIndex(const Tensor& keys, Repeated repeated, Floats floats = Floats::by_value);
  // The positions of n elements of the keys' dtype; -1 for an unknown key.
  void find(const void* elements, std::int64_t n, std::int64_t* positions) const;

 private:
  DType dtype_;
  Repeated repeated_;
  Floats floats_;
  std::unordered_map<std::uint64_t, std::int64_t> numbers_;
  std::unordered_map<std::string, std::int64_t> texts_;
};

struct LookupTable {
  Tensor keys, values;  // rank 1, of one length
  Tensor otherwise;     // one element of the values' dtype, for unknown keys
  KeyIndex::Repeated repeated = KeyIndex::Repeated::first;
  KeyIndex::Floats floats = KeyIndex::Floats::by_value;
};

// y[i] = values[position of x[i] in keys].
graph::Kernel bind_lookup(graph::BindContext& context, const LookupTable& table);

}  // namespace ondine::kernels
