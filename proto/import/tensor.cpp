#include <algorithm>
#include <cstring>
#include <limits>

#include "core/byte_order.h"
#include "core/checked.h"
#include "core/deferred.h"
#include "core/element_bytes.h"
#include "core/packed_elements.h"
#include "core/system/pages.h"
#include "onnx_schema.pb.h"
#include "proto/detach.h"
#include "proto/external_data.h"
#include "proto/import/parts.h"
#include "proto/tensor_fields.h"

namespace ondine {
namespace {

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

// Larger parts of files are copied, where that is needed, when they are first asked for.
constexpr std::size_t largest_copied_at_once = std::size_t{4} << 10;

bool is_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

// Copies into zeroed memory. Zeros are not written: untouched pages take no memory, and optimizer
// state often starts as zeros.
void copy_elements(std::span<const std::byte> from, std::span<std::byte> to) {
  constexpr std::size_t piece = std::size_t{16} << 10;
  for (std::size_t at = 0; at < from.size(); at += piece) {
    const auto part = from.subspan(at, std::min(piece, from.size() - at));
    if (!is_zero(part)) std::memcpy(to.data() + at, part.data(), part.size());
  }
}

// Elements of stored form in memory form, into zeroed memory; not for packed ones.
void convert(DType dtype, std::span<const std::byte> stored, std::span<std::byte> elements) {
  if (dtype == DType::boolean) {
    std::ranges::transform(stored, elements.begin(), [](std::byte byte) {
      return static_cast<std::byte>(byte != std::byte{0});
    });
    return;
  }
  copy_elements(stored, elements);
  if (other_byte_order && number_width(dtype) > 1) swap_numbers(elements, dtype);
}

// Converts a part of a file piece by piece, so that the pages of the file and of the result
// together are little more than the result.
void convert_file(DType dtype, const ExternalData::View& view, std::span<std::byte> elements) {
  constexpr std::size_t piece = std::size_t{256} << 10;
  for (std::size_t at = 0; at < elements.size(); at += piece) {
    const std::size_t count = std::min(piece, elements.size() - at);
    convert(dtype, view.bytes.subspan(at, count), elements.subspan(at, count));
    view.file->release(view.bytes.subspan(at, count));
  }
  // A fault also maps the pages around it, those of earlier pieces among them.
  view.file->release(view.bytes);
}

bool is_memory_form(DType dtype, std::span<const std::byte> stored) {
  constexpr std::uintptr_t alignment = alignof(std::complex<double>);
  const bool aligned = reinterpret_cast<std::uintptr_t>(stored.data()) % alignment == 0;
  return aligned && dtype != DType::boolean && !(other_byte_order && number_width(dtype) > 1);
}

// A tensor of the elements that a view holds in stored form; shares the memory where possible.
// Large tensors of a file are otherwise read when they are first asked for.
Tensor from_file_form(DType dtype, const Shape& shape, const ExternalData::View& view) {
  const std::size_t bytes = element_bytes(shape.size(), dtype);
  bool maybe_zero = false;
  if (maps_pages(bytes)) {
    maybe_zero = is_zero(view.bytes.first(256));
    if (view.file != nullptr) {
      view.file->release(view.bytes);
    } else if (maybe_zero && is_zero(view.bytes)) {
      return Tensor(dtype, shape);
    }
  }
  if (is_packed(dtype)) {
    return share_packed(dtype, shape, {view.bytes, view.owner}, [=] {
      if (view.file != nullptr) view.file->release(view.bytes);
    });
  }
  if (is_memory_form(dtype, view.bytes) && !(maybe_zero && view.file != nullptr)) {
    auto* data = const_cast<std::byte*>(view.bytes.data());
    return Tensor::share(dtype, shape, data, view.owner);
  }
  if (view.file != nullptr && bytes > largest_copied_at_once) {
    return Tensor::share(
        dtype, shape,
        std::make_shared<DeferredElements>(
            bytes, [=](std::span<std::byte> memory) { convert_file(dtype, view, memory); },
            std::nullopt, view.bytes));
  }
  Tensor tensor(dtype, shape);
  convert(dtype, view.bytes, {static_cast<std::byte*>(tensor.mutable_data()), tensor.bytes()});
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

Tensor from_raw_data(DType dtype, const Shape& shape, onnx::TensorProto& proto,
                     const Importer& importer) {
  ExternalData::View view;
  if (importer.detached != nullptr) {
    if (const auto bytes = importer.detached->find(proto.raw_data())) {
      view = {*bytes, std::const_pointer_cast<MappedFile>(importer.file), importer.file.get()};
    }
  }
  if (view.owner == nullptr) {
    auto owner = std::make_shared<std::string>(std::move(*proto.mutable_raw_data()));
    view = {std::as_bytes(std::span(*owner)), owner, nullptr};
  }
  const std::uint64_t needed = packed_size(dtype, shape.size());
  if (view.bytes.size() != needed) {
    reject("shape ", shape, " needs ", needed, " bytes in raw_data, there are ", view.bytes.size());
  }
  return from_file_form(dtype, shape, view);
}

Tensor from_external(DType dtype, const Shape& shape, onnx::TensorProto& proto,
                     Importer& importer) {
  const auto reference = parse_reference(take_properties(proto.mutable_external_data()));
  for (const std::string& key : reference.unknown) {
    tolerate(importer, "external data has the unknown key ", quoted(key));
  }
  if (dtype == DType::string) reject("external data cannot hold strings");
  const auto view = importer.external.view(reference, packed_size(dtype, shape.size()));
  return from_file_form(dtype, shape, view);
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
      return from_raw_data(dtype, shape, proto, importer);
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
