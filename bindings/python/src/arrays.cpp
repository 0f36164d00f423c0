#include "arrays.h"

#include <nanobind/ndarray.h>

#include <array>
#include <cstdint>
#include <memory>

namespace ondine::python {
namespace {

using Array = nb::ndarray<nb::ro>;

struct TypeRow {
  int dtype;
  std::uint8_t code;
  std::uint8_t bits;
};
constexpr auto code(nb::dlpack::dtype_code code) { return static_cast<std::uint8_t>(code); }
constexpr std::uint8_t boolean_code = 6;
constexpr TypeRow types[] = {
    {ONDINE_FLOAT32, code(nb::dlpack::dtype_code::Float), 32},
    {ONDINE_FLOAT64, code(nb::dlpack::dtype_code::Float), 64},
    {ONDINE_FLOAT16, code(nb::dlpack::dtype_code::Float), 16},
    {ONDINE_BFLOAT16, code(nb::dlpack::dtype_code::Bfloat), 16},
    {ONDINE_INT8, code(nb::dlpack::dtype_code::Int), 8},
    {ONDINE_INT16, code(nb::dlpack::dtype_code::Int), 16},
    {ONDINE_INT32, code(nb::dlpack::dtype_code::Int), 32},
    {ONDINE_INT64, code(nb::dlpack::dtype_code::Int), 64},
    {ONDINE_UINT8, code(nb::dlpack::dtype_code::UInt), 8},
    {ONDINE_UINT16, code(nb::dlpack::dtype_code::UInt), 16},
    {ONDINE_UINT32, code(nb::dlpack::dtype_code::UInt), 32},
    {ONDINE_UINT64, code(nb::dlpack::dtype_code::UInt), 64},
    {ONDINE_COMPLEX64, code(nb::dlpack::dtype_code::Complex), 64},
    {ONDINE_COMPLEX128, code(nb::dlpack::dtype_code::Complex), 128},
    {ONDINE_BOOL, boolean_code, 8},
};

int dtype_of(const Array& array) {
  const nb::dlpack::dtype type = array.dtype();
  for (const TypeRow& row : types) {
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return row.dtype;
  }
  throw nb::type_error("the library has no elements of this type");
}

bool is_row_major(const Array& array) {
  std::int64_t expected = 1;
  for (size_t axis = array.ndim(); axis-- > 0;) {
    const auto dim = static_cast<std::int64_t>(array.shape(axis));
    if (dim == 0) return true;
    if (dim != 1 && array.stride(axis) != expected) return false;
    expected *= dim;
  }
  return true;
}

Array array_of(nb::handle object) {
  Array array;
  if (!nb::try_cast(object, array, false)) {
    const std::string type = nb::str(nb::handle(Py_TYPE(object.ptr()))).c_str();
    throw nb::type_error(("an array is needed (numpy, DLPack or the buffer protocol), found " +
                          type + "; copy=True makes one of what numpy can convert")
                             .c_str());
  }
  if (array.device_type() != nb::device::cpu::value) {
    throw nb::value_error("the array does not lie in the memory of the CPU");
  }
  if (!is_row_major(array)) {
    throw nb::value_error(
        "the array is not in row-major order without gaps; copy=True makes a copy that is");
  }
  return array;
}

Value strings_of(const nb::tuple& shape, const nb::list& texts) {
  std::vector<std::int64_t> dims;
  for (nb::handle dim : shape) dims.push_back(nb::cast<std::int64_t>(dim));
  std::vector<std::string> kept;
  for (nb::handle text : texts) kept.push_back(nb::cast<std::string>(text));
  std::vector<const char*> pointers;
  std::vector<size_t> lengths;
  for (const std::string& text : kept) {
    pointers.push_back(text.data());
    lengths.push_back(text.size());
  }
  ondine_value* made = nullptr;
  check(ondine_tensor_strings(dims.size(), dims.data(), pointers.data(), lengths.data(), &made));
  return Value(made);
}

void release_array(void* user) {
  const nb::gil_scoped_acquire acquired;
  delete static_cast<Array*>(user);
}

Value tensor_of(nb::handle object, bool lasting) {
  auto array = std::make_unique<Array>(array_of(object));
  std::vector<std::int64_t> dims;
  for (size_t axis = 0; axis < array->ndim(); ++axis) {
    dims.push_back(static_cast<std::int64_t>(array->shape(axis)));
  }
  void* const data = const_cast<void*>(array->data());
  ondine_value* made = nullptr;
  const int dtype = dtype_of(*array);
  check(ondine_tensor_wrap(dtype, dims.size(), dims.data(), data, lasting ? release_array : nullptr,
                           array.get(), &made));
  if (lasting) static_cast<void>(array.release());
  return Value(made);
}

Value sequence_of(const nb::list& list, bool lasting) {
  std::vector<Value> kept;
  std::vector<const ondine_value*> elements;
  for (nb::handle one : list) {
    kept.push_back(to_value(one, lasting));
    elements.push_back(kept.back().get());
  }
  ondine_value* made = nullptr;
  check(ondine_value_sequence(elements.data(), elements.size(), &made));
  return Value(made);
}

Values make_values(const Dict& feeds, bool lasting) {
  ondine_values* made = nullptr;
  check(ondine_values_new(&made));
  Values values(made);
  for (auto [key, object] : feeds) {
    const auto name = nb::cast<std::string>(key);
    try {
      const Value value = to_value(object, lasting);
      check(ondine_values_set(values.get(), name.c_str(), value.get()));
    } catch (nb::builtin_exception& error) {
      const std::string message = "'" + name + "': " + error.what();
      if (error.type() == nb::exception_type::type_error) {
        throw nb::type_error(message.c_str());
      }
      throw nb::value_error(message.c_str());
    }
  }
  return values;
}

nb::object strings_to_python(const Value& value, size_t rank, const std::int64_t* dims,
                             size_t count) {
  nb::list texts;
  for (size_t i = 0; i < count; ++i) {
    const char* text = nullptr;
    size_t length = 0;
    check(ondine_tensor_string(value.get(), i, &text, &length));
    texts.append(nb::str(text, length));
  }
  nb::list shape;
  for (size_t axis = 0; axis < rank; ++axis) shape.append(dims[axis]);
  const nb::object numpy = nb::module_::import_("numpy");
  const nb::object flat = numpy.attr("empty")(count, "object");
  for (size_t i = 0; i < count; ++i) flat[i] = texts[i];
  return flat.attr("reshape")(nb::tuple(shape));
}

nb::object tensor_to_python(Value value) {
  int dtype = 0;
  size_t rank = 0;
  size_t count = 0;
  const std::int64_t* dims = nullptr;
  check(ondine_tensor_info(value.get(), &dtype, &rank, &dims, &count, nullptr));
  if (dtype == ONDINE_STRING) return strings_to_python(value, rank, dims, count);
  const TypeRow* row = nullptr;
  for (const TypeRow& one : types) {
    if (one.dtype == dtype) row = &one;
  }
  if (row == nullptr) throw nb::type_error("numpy and DLPack have no elements of this type");
  void* data = nullptr;
  check(ondine_tensor_data(value.get(), &data));
  const std::vector<size_t> shape(dims, dims + rank);
  const nb::dlpack::dtype type{row->code, row->bits, 1};
  auto* const kept = new Value(std::move(value));
  const nb::capsule owner(kept, [](void* memory) noexcept { delete static_cast<Value*>(memory); });
  if (dtype == ONDINE_BFLOAT16) {
    return nb::cast(nb::ndarray<nb::array_api>(data, rank, shape.data(), owner, nullptr, type));
  }
  const nb::object array =
      nb::cast(nb::ndarray<nb::numpy>(data, rank, shape.data(), owner, nullptr, type));
  return rank == 0 ? nb::object(array[nb::tuple()]) : array;
}

Value element(const Value& value, size_t index) {
  ondine_value* made = nullptr;
  check(ondine_value_element(value.get(), index, &made));
  return Value(made);
}

}  // namespace

Value to_value(nb::handle object, bool lasting) {
  if (object.is_none()) {
    ondine_value* made = nullptr;
    check(ondine_value_optional(nullptr, &made));
    return Value(made);
  }
  if (nb::isinstance<nb::tuple>(object)) {
    const auto pair = nb::borrow<nb::tuple>(object);
    return strings_of(nb::cast<nb::tuple>(pair[0]), nb::cast<nb::list>(pair[1]));
  }
  if (nb::isinstance<nb::list>(object)) return sequence_of(nb::borrow<nb::list>(object), lasting);
  return tensor_of(object, lasting);
}

Values to_values(const Dict& feeds) { return make_values(feeds, false); }
Values to_lasting_values(const Dict& feeds) { return make_values(feeds, true); }

nb::object to_python(Value value) {
  int kind = 0;
  check(ondine_value_kind(value.get(), &kind));
  if (kind == ONDINE_TENSOR) return tensor_to_python(std::move(value));
  if (kind == ONDINE_NONE) return nb::none();
  if (kind == ONDINE_SPARSE_TENSOR) throw nb::type_error("sparse tensors have no form in numpy");
  size_t count = 0;
  check(ondine_value_count(value.get(), &count));
  nb::list elements;
  for (size_t i = 0; i < count; ++i) elements.append(to_python(element(value, i)));
  if (kind == ONDINE_OPTIONAL) return count == 0 ? nb::none() : nb::object(elements[0]);
  if (kind == ONDINE_SEQUENCE) return elements;
  ondine_value* keys = nullptr;
  check(ondine_value_keys(value.get(), &keys));
  const nb::object names = to_python(Value(keys)).attr("tolist")();
  nb::dict map;
  for (size_t i = 0; i < count; ++i) map[names[i]] = elements[i];
  return map;
}

Dict to_dict(const ondine_values* values) {
  size_t count = 0;
  check(ondine_values_count(values, &count));
  Dict result;
  for (size_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    ondine_value* value = nullptr;
    check(ondine_values_name(values, i, &name));
    const nb::str key(name);
    check(ondine_values_at(values, i, &value));
    result[key] = to_python(Value(value));
  }
  return result;
}

}  // namespace ondine::python
