#include "proto/tensor_fields.h"

#include <array>

#include "onnx_schema.pb.h"

namespace ondine {

const char* to_string(DataField field) noexcept {
  constexpr std::array names{"raw_data",   "float_data",  "int32_data",  "string_data",
                             "int64_data", "double_data", "uint64_data", "external data"};
  return names[static_cast<std::size_t>(field)];
}

std::vector<DataField> used_fields(const onnx::TensorProto& tensor) {
  std::vector<DataField> fields;
  const auto note = [&](bool used, DataField field) {
    if (used) fields.push_back(field);
  };
  note(!tensor.raw_data().empty(), DataField::raw);
  note(tensor.float_data_size() > 0, DataField::float32);
  note(tensor.int32_data_size() > 0, DataField::int32);
  note(tensor.string_data_size() > 0, DataField::string);
  note(tensor.int64_data_size() > 0, DataField::int64);
  note(tensor.double_data_size() > 0, DataField::float64);
  note(tensor.uint64_data_size() > 0, DataField::uint64);
  note(tensor.data_location() == onnx::TensorProto::EXTERNAL, DataField::external);
  return fields;
}

DataField typed_field(DType dtype) noexcept {
  switch (dtype) {
    case DType::float32:
    case DType::complex64:
      return DataField::float32;
    case DType::float64:
    case DType::complex128:
      return DataField::float64;
    case DType::int64:
      return DataField::int64;
    case DType::uint32:
    case DType::uint64:
      return DataField::uint64;
    case DType::string:
      return DataField::string;
    default:
      return DataField::int32;
  }
}

}  // namespace ondine
