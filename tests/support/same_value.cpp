#include "tests/support/same_value.h"

#include <algorithm>

namespace ondine::test {

bool same_value(const Value& a, const Value& b) {
  using Kind = Value::Kind;
  if (a.kind() != b.kind()) return false;
  if (a.kind() == Kind::none) return true;
  const bool tensors = a.kind() == Kind::tensor || a.kind() == Kind::sparse_tensor;
  if (tensors && !a.tensor().identical(b.tensor())) return false;
  if (a.kind() == Kind::tensor) return true;
  return a.keys().identical(b.keys()) && a.dense_shape() == b.dense_shape() &&
         std::equal(a.elements().begin(), a.elements().end(), b.elements().begin(),
                    b.elements().end(), same_value);
}

}  // namespace ondine::test
