// The fields in which a TensorProto may hold its elements.
#pragma once

#include <cstdint>
#include <vector>

#include <ondine/dtype.h>

namespace ondine {

namespace onnx {
class TensorProto;
}

enum class DataField : std::uint8_t {
  raw,
  float32,
  int32,
  string,
  int64,
  float64,
  uint64,
  external,
};
// "raw_data", "float_data", ...
const char* to_string(DataField field) noexcept;

// The fields that are set. data_location alone decides whether data is external: leftover entries
// of external_data mean nothing without it.
std::vector<DataField> used_fields(const onnx::TensorProto& tensor);
// The field for elements of a type, other than raw_data.
DataField typed_field(DType dtype) noexcept;

}  // namespace ondine
