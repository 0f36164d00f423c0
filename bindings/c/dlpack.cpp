// Tensors exchanged by DLPack.
#include <dlpack/dlpack.h>

#include <cstring>
#include <optional>
#include <string>

#include "bindings/c/call.h"
#include "bindings/c/objects.h"
#include "bindings/c/tensors.h"

using namespace ondine;     // NOLINT
using namespace ondine::c;  // NOLINT

namespace {

constexpr std::uint8_t boolean_code = 6;  // kDLBool of later versions of the header

struct TypeRow {
  DType dtype;
  std::uint8_t code;
  std::uint8_t bits;
};
constexpr TypeRow types[] = {
    {DType::float32, kDLFloat, 32},     {DType::float64, kDLFloat, 64},
    {DType::float16, kDLFloat, 16},     {DType::bfloat16, kDLBfloat, 16},
    {DType::int8, kDLInt, 8},           {DType::int16, kDLInt, 16},
    {DType::int32, kDLInt, 32},         {DType::int64, kDLInt, 64},
    {DType::uint8, kDLUInt, 8},         {DType::uint16, kDLUInt, 16},
    {DType::uint32, kDLUInt, 32},       {DType::uint64, kDLUInt, 64},
    {DType::complex64, kDLComplex, 64}, {DType::complex128, kDLComplex, 128},
    {DType::boolean, boolean_code, 8},
};

DType dtype_of(const DLDataType& type) {
  for (const TypeRow& row : types) {
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return row.dtype;
  }
  throw Error(ErrorCode::unsupported, "elements of DLPack type code " + std::to_string(type.code) +
                                          ", " + std::to_string(type.bits) + " bits and " +
                                          std::to_string(type.lanes) + " lanes");
}

DLDataType type_of(DType dtype) {
  for (const TypeRow& row : types) {
    if (row.dtype == dtype) return {row.code, row.bits, 1};
  }
  throw Error(ErrorCode::unsupported,
              "DLPack has no elements of type " + std::string(to_string(dtype)));
}

bool is_row_major(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  std::int64_t expected = 1;
  for (int axis = tensor.ndim; axis-- > 0;) {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != expected) return false;
    expected *= tensor.shape[axis];
  }
  return true;
}

// Copies the elements at `from`, whose strides count elements, in row-major order.
std::byte* gather(const DLTensor& tensor, int axis, const std::byte* from, std::size_t width,
                  std::byte* to) {
  if (axis == tensor.ndim) {
    std::memcpy(to, from, width);
    return to + width;
  }
  const std::int64_t step = tensor.strides[axis] * static_cast<std::int64_t>(width);
  for (std::int64_t i = 0; i < tensor.shape[axis]; ++i) {
    to = gather(tensor, axis + 1, from + i * step, width, to);
  }
  return to;
}

// Lets the producer have its tensor back.
struct Taken {
  DLManagedTensor* tensor = nullptr;
  Taken() = default;
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  ~Taken() {
    if (tensor != nullptr && tensor->deleter != nullptr) tensor->deleter(tensor);
  }
};

Tensor take(const DLTensor& given, bool copies, const std::shared_ptr<Taken>& owner) {
  const bool on_cpu = given.device.device_type == kDLCPU;
  if (!on_cpu) {
    throw Error(ErrorCode::unsupported,
                "the tensor lies on a device of DLPack type " +
                    std::to_string(static_cast<int>(given.device.device_type)) + ", not the CPU");
  }
  const DType dtype = dtype_of(given.dtype);
  if (given.ndim < 0) throw Error(ErrorCode::mismatch, "the rank is negative");
  const Shape shape = shape_of(static_cast<std::size_t>(given.ndim), given.shape);
  const bool is_empty = shape.size() == 0;
  auto* const data = static_cast<std::byte*>(given.data);
  std::byte* const first = data == nullptr ? nullptr : data + given.byte_offset;
  if (!is_empty && !is_row_major(given)) {
    if (!copies) {
      throw Error(ErrorCode::mismatch,
                  "the elements are not in row-major order without gaps; pass a copy");
    }
    if (first == nullptr) throw Error(ErrorCode::mismatch, "the elements are NULL");
    Tensor result(dtype, shape);
    gather(given, 0, first, size_of(dtype), static_cast<std::byte*>(result.mutable_data()));
    check_elements(dtype, shape, result.data());
    return result;
  }
  if (copies) {
    Tensor result(dtype, shape);
    if (!is_empty && first == nullptr) throw Error(ErrorCode::mismatch, "the elements are NULL");
    if (!is_empty) std::memcpy(result.mutable_data(), first, result.bytes());
    check_elements(dtype, shape, result.data());
    return result;
  }
  check_elements(dtype, shape, first);
  return Tensor::share(dtype, shape, first, owner);
}

// A tensor for another library.
struct Given {
  DLManagedTensor managed{};
  Tensor tensor;
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> strides;
};

}  // namespace

ondine_error* ondine_tensor_from_dlpack(struct DLManagedTensor* tensor, int copy,
                                        ondine_value** value) {
  return guard([&] {
    require(value, "value");
    require(tensor, "tensor");
    const auto owner = std::make_shared<Taken>();
    New<ondine_value> made(take(tensor->dl_tensor, copy != 0, owner));
    owner->tensor = tensor;
    *value = made.release();
  });
}

ondine_error* ondine_tensor_to_dlpack(const ondine_value* value, struct DLManagedTensor** tensor) {
  return guard([&] {
    require(tensor, "tensor");
    auto given = std::make_unique<Given>();
    given->tensor = get(value)->tensor();
    const Shape& shape = given->tensor.shape();
    given->dims.assign(shape.begin(), shape.end());
    given->strides.resize(given->dims.size());
    std::int64_t stride = 1;
    for (std::size_t axis = given->dims.size(); axis-- > 0;) {
      given->strides[axis] = stride;
      stride *= given->dims[axis];
    }
    DLTensor& to = given->managed.dl_tensor;
    to.dtype = type_of(given->tensor.dtype());
    to.device = {kDLCPU, 0};
    to.ndim = static_cast<int>(given->dims.size());
    to.shape = given->dims.data();
    to.strides = given->strides.data();
    to.data = given->tensor.mutable_data();
    given->managed.manager_ctx = given.get();
    given->managed.deleter = [](DLManagedTensor* self) {
      delete static_cast<Given*>(self->manager_ctx);
    };
    *tensor = &given.release()->managed;
  });
}
