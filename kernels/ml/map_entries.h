// Maps from keys to scalars, read by the operators that flatten them.
#pragma once

#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"

namespace ondine::kernels {

// Key and value dtypes of input 0. Error(mismatch) unless it is a map to scalars.
struct MapTypes {
  DType key, value;
  explicit MapTypes(const graph::Type& type);
};

// The entries of a map in a call. Error(mismatch) unless every value is one element of `types`.
struct MapEntries {
  Tensor keys;                 // [n]
  std::vector<Tensor> values;  // n of one element
  MapEntries(const graph::KernelContext& call, const MapTypes& types);
};

// The shape of n elements in a row: [n] or [1, n], whichever the model declares for output 0.
class RowShape {
 public:
  // `matrix`: [1, n] where the model does not declare a shape.
  RowShape(const graph::BindContext& context, bool matrix);
  Shape of(std::int64_t n) const;

 private:
  bool matrix_;
};

}  // namespace ondine::kernels
