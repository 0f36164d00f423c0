#include <algorithm>
#include <cstring>
#include <limits>

#include "core/byte_order.h"
#include "core/checked.h"
#include "core/pages.h"
#include "onnx_schema.pb.h"
#include "proto/external_data.h"
#include "proto/import/parts.h"
#include "proto/packing.h"
#include "proto/tensor_fields.h"

namespace ondine {
namespace {

template <class... Parts>
[[noreturn]] void reject(const Parts&... parts) {
  fail(ErrorCode::invalid_model, parts...);
}

Shape import_shape(const google::protobuf::RepeatedField<std::int64_t>& dims,
                   const Limits& limits) {
  const std::size_t most = std::min(limits.rank, Shape::max_rank);
  if (static_cast<std::size_t>(dims.size()) > most) {
    fail(ErrorCode::limit, "the rank is ", dims.size(), ", more than ", most);
  }
  Shape shape;
  for (const std::int64_t dim : dims) {
    if (dim < 0) reject("dimension ", dim, " is negative");
    shape.push_back(dim);
  }
  return shape;
}

// Allocates a tensor and charges its memory to the importer.
void charge(DType dtype, const Shape& shape, Importer& importer) {
  const auto bytes = static_cast<std::uint64_t>(
      checked_mul(shape.size(), static_cast<std::int64_t>(size_of(dtype))));
  if (bytes > importer.limits.tensor_bytes) {
    fail(ErrorCode::limit, "shape ", shape, " takes ", bytes, " bytes, more than ",
         importer.limits.tensor_bytes);
  }
  if (bytes > importer.limits.weight_bytes - importer.weight_bytes) {
    fail(ErrorCode::limit, "the tensors of the model together exceed ",
         importer.limits.weight_bytes, " bytes");
  }
  importer.weight_bytes += bytes;
}

// A tensor of the elements that `bytes` (owned by `owner`) holds in stored form; shares the memory
// where possible.
Tensor from_file_form(DType dtype, const Shape& shape, std::span<const std::byte> bytes,
                      std::shared_ptr<void> owner) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const bool normal = dtype != DType::boolean ||
                      std::all_of(data, data + bytes.size(), [](auto byte) { return byte <= 1; });
  constexpr std::uintptr_t alignment = alignof(std::complex<double>);
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
  const bool swap = other_byte_order && number_width(dtype) > 1;
  if (normal && aligned && !swap && !is_packed(dtype)) {
    return Tensor::share(dtype, shape, const_cast<std::uint8_t*>(data), std::move(owner));
  }
  Tensor tensor(dtype, shape);
  auto* target = static_cast<std::uint8_t*>(tensor.mutable_data());
  if (is_packed(dtype)) {
    unpack(dtype, bytes, {reinterpret_cast<std::byte*>(target), tensor.bytes()});
  } else if (normal) {
    std::memcpy(target, data, bytes.size());
    if (swap) swap_numbers({reinterpret_cast<std::byte*>(target), bytes.size()}, dtype);
  } else {
    std::transform(data, data + bytes.size(), target,
                   [](auto byte) { return static_cast<std::uint8_t>(byte != 0); });
  }
  return tensor;
}

void require_count(const char* field, std::int64_t found, std::int64_t needed, const Shape& shape) {
  if (found != needed) {
    reject("shape ", shape, " needs ", needed, " entries in ", field, ", there are ", found);
  }
}

// Fields whose entries are the elements: float_data, int64_data, double_data.
template <class T>
Tensor from_entries(DType dtype, const Shape& shape, const char* field,
                    google::protobuf::RepeatedField<T>* entries) {
  const auto per_element = static_cast<std::int64_t>(size_of(dtype) / sizeof(T));
  require_count(field, entries->size(), checked_mul(shape.size(), per_element), shape);
  Tensor tensor(dtype, shape);
  std::memcpy(tensor.mutable_data(), entries->data(), tensor.bytes());
  google::protobuf::RepeatedField<T>().Swap(entries);
  return tensor;
}

// Fields whose entries are wider than the elements. Every entry must be in [low, high].
template <class T, class Entry>
Tensor from_wide_entries(DType dtype, const Shape& shape, const char* field, std::int64_t low,
                         std::int64_t high, const google::protobuf::RepeatedField<Entry>& entries) {
  require_count(field, entries.size(), shape.size(), shape);
  Tensor tensor(dtype, shape);
  auto* target = static_cast<T*>(tensor.mutable_data());
  for (const Entry entry : entries) {
    if (std::cmp_less(entry, low) || std::cmp_greater(entry, high)) {
      reject("entry ", entry, " of ", field, " is outside the range of ", dtype);
    }
    *target++ = static_cast<T>(entry);
  }
  return tensor;
}

template <class T>
Tensor from_narrow(DType dtype, const Shape& shape,
                   const google::protobuf::RepeatedField<std::int32_t>& entries) {
  return from_wide_entries<T>(dtype, shape, "int32_data", std::numeric_limits<T>::min(),
                              std::numeric_limits<T>::max(), entries);
}

Tensor from_packed_entries(DType dtype, const Shape& shape,
                           const google::protobuf::RepeatedField<std::int32_t>& entries) {
  require_count("int32_data", entries.size(),
                static_cast<std::int64_t>(packed_size(dtype, shape.size())), shape);
  std::vector<std::byte> packed;
  packed.reserve(static_cast<std::size_t>(entries.size()));
  const std::int32_t low = is_signed_integer(dtype) ? -128 : 0;
  for (const std::int32_t entry : entries) {
    if (entry < low || entry > 255) {
      reject("entry ", entry, " of int32_data is not a byte of packed ", dtype);
    }
    packed.push_back(static_cast<std::byte>(entry));
  }
  Tensor tensor(dtype, shape);
  unpack(dtype, packed, {static_cast<std::byte*>(tensor.mutable_data()), tensor.bytes()});
  return tensor;
}

Tensor from_int32_data(DType dtype, const Shape& shape,
                       google::protobuf::RepeatedField<std::int32_t>* entries) {
  if (is_packed(dtype)) return from_packed_entries(dtype, shape, *entries);
  switch (dtype) {
    case DType::int32:
      return from_entries(dtype, shape, "int32_data", entries);
    case DType::int16:
      return from_narrow<std::int16_t>(dtype, shape, *entries);
    case DType::int8:
      return from_narrow<std::int8_t>(dtype, shape, *entries);
    case DType::boolean: {
      for (auto& entry : *entries) entry = entry != 0 ? 1 : 0;
      return from_narrow<std::uint8_t>(dtype, shape, *entries);
    }
    default:
      // uint16, uint8 and the bits of small floats.
      return size_of(dtype) == 2 ? from_narrow<std::uint16_t>(dtype, shape, *entries)
                                 : from_narrow<std::uint8_t>(dtype, shape, *entries);
  }
}

Tensor from_strings(const Shape& shape, onnx::TensorProto& proto) {
  require_count("string_data", proto.string_data_size(), shape.size(), shape);
  Tensor tensor(DType::string, shape);
  auto target = tensor.mutable_values<std::string>();
  for (int i = 0; i < proto.string_data_size(); ++i) {
    target[static_cast<std::size_t>(i)] = std::move(*proto.mutable_string_data(i));
  }
  return tensor;
}

Tensor from_raw_data(DType dtype, const Shape& shape, onnx::TensorProto& proto) {
  const std::uint64_t needed = packed_size(dtype, shape.size());
  if (proto.raw_data().size() != needed) {
    reject("shape ", shape, " needs ", needed, " bytes in raw_data, there are ",
           proto.raw_data().size());
  }
  auto owner = std::make_shared<std::string>(std::move(*proto.mutable_raw_data()));
  // Optimizer state often starts as zeros; pages of zeros take no memory until written.
  const bool zeros = maps_pages(needed) && size_of(dtype) * 8 == packed_bits(dtype) &&
                     owner->find_first_not_of('\0') == std::string::npos;
  if (zeros) return Tensor(dtype, shape);
  const auto bytes = std::as_bytes(std::span(*owner));
  return from_file_form(dtype, shape, bytes, std::move(owner));
}

Tensor from_external(DType dtype, const Shape& shape, onnx::TensorProto& proto,
                     Importer& importer) {
  const auto reference = parse_reference(take_properties(proto.mutable_external_data()));
  if (dtype == DType::string) reject("external data cannot hold strings");
  const auto view = importer.external.view(reference, packed_size(dtype, shape.size()));
  return from_file_form(dtype, shape, view.bytes, view.owner);
}

Tensor import_elements(DType dtype, const Shape& shape, onnx::TensorProto& proto,
                       Importer& importer) {
  const auto fields = used_fields(proto);
  if (fields.size() > 1) {
    reject("there is data in both ", to_string(fields[0]), " and ", to_string(fields[1]));
  }
  if (fields.empty()) {
    if (shape.size() > 0 && proto.external_data_size() > 0) {
      reject("there is a reference to external data, but data_location is not EXTERNAL");
    }
    if (shape.size() > 0) reject("shape ", shape, " needs data, there is none");
    return Tensor(dtype, shape);
  }
  const DataField field = fields[0];
  if (field == DataField::external) return from_external(dtype, shape, proto, importer);
  const DataField typed = typed_field(dtype);
  const bool raw = field == DataField::raw && dtype != DType::string;
  if (!raw && field != typed) {
    reject("data of type ", dtype, " is in ", to_string(field), "; it belongs in ",
           to_string(typed));
  }
  switch (field) {
    case DataField::raw:
      return from_raw_data(dtype, shape, proto);
    case DataField::float32:
      return from_entries(dtype, shape, "float_data", proto.mutable_float_data());
    case DataField::int32:
      return from_int32_data(dtype, shape, proto.mutable_int32_data());
    case DataField::string:
      return from_strings(shape, proto);
    case DataField::int64:
      return from_entries(dtype, shape, "int64_data", proto.mutable_int64_data());
    case DataField::float64:
      return from_entries(dtype, shape, "double_data", proto.mutable_double_data());
    case DataField::uint64:
      if (dtype == DType::uint64) {
        return from_entries(dtype, shape, "uint64_data", proto.mutable_uint64_data());
      }
      return from_wide_entries<std::uint32_t>(dtype, shape, "uint64_data", 0,
                                              std::numeric_limits<std::uint32_t>::max(),
                                              proto.uint64_data());
    case DataField::external:
      break;
  }
  fail(ErrorCode::internal, "no such data field");
}

}  // namespace

DType import_dtype(std::int32_t data_type) {
  if (data_type == 0) reject("the element type is UNDEFINED");
  if (data_type == onnx::TensorProto::FLOAT6E2M3 || data_type == onnx::TensorProto::FLOAT6E3M2) {
    fail(ErrorCode::unsupported, "element type ", data_type,
         ", a float of 6 bits, is not supported");
  }
  if (data_type < 0 || data_type >= dtype_count) {
    reject("element type ", data_type, " is unknown");
  }
  return static_cast<DType>(data_type);
}

Tensor import_tensor(onnx::TensorProto& proto, Importer& importer) {
  return within(
      importer,
      [&] {
        const DType dtype = import_dtype(proto.data_type());
        if (proto.has_segment()) reject("a tensor in segments is not allowed");
        const Shape shape = import_shape(proto.dims(), importer.limits);
        charge(dtype, shape, importer);
        return import_elements(dtype, shape, proto, importer);
      },
      [&] {
        return proto.name().empty() ? "an unnamed tensor" : "tensor " + quoted(proto.name());
      });
}

graph::SparseTensorDef import_sparse(onnx::SparseTensorProto& proto, Importer& importer) {
  graph::SparseTensorDef out;
  out.name = proto.values().name();
  return within(
      importer,
      [&] {
        if (!proto.has_values() || !proto.has_indices())
          reject("there are no values or no indices");
        out.dims = import_shape(proto.dims(), importer.limits);
        out.values = import_tensor(*proto.mutable_values(), importer);
        out.indices = import_tensor(*proto.mutable_indices(), importer);
        if (out.indices.dtype() != DType::int64) {
          reject("the indices are ", out.indices.dtype(), ", needed are int64");
        }
        charge(out.values.dtype(), out.dims, importer);  // resolving makes it dense
        check(out);
        return std::move(out);
      },
      [&] { return "sparse tensor " + quoted(proto.values().name()); });
}

}  // namespace ondine
