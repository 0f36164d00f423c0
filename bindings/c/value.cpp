// Tensors and other values.
#include <cstring>
#include <string>

#include "bindings/c/call.h"
#include "bindings/c/objects.h"
#include "bindings/c/tensors.h"

using namespace ondine;     // NOLINT
using namespace ondine::c;  // NOLINT

namespace {

// Lets the caller have its memory back.
struct Owner {
  void (*release)(void* user) = nullptr;
  void* user = nullptr;
  Owner() = default;
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() {
    if (release != nullptr) release(user);
  }
};

const Tensor& tensor_of(const std::shared_ptr<Value>& value) { return value->tensor(); }

std::vector<Value> elements_of(const ondine_value* const* elements, size_t count) {
  if (count > 0) require(elements, "elements");
  std::vector<Value> result;
  for (size_t i = 0; i < count; ++i) result.push_back(*get(elements[i]));
  return result;
}

void give(Value made, ondine_value** value) {
  New<ondine_value> handle(std::move(made));
  *value = handle.release();
}

[[noreturn]] void fail_index(size_t index, size_t count) {
  throw Error(ErrorCode::not_found, "there is no element " + std::to_string(index) +
                                        ": the value has " + std::to_string(count));
}

}  // namespace

ondine_error* ondine_tensor_new(int dtype, size_t rank, const int64_t* dims, const void* data,
                                ondine_value** value) {
  return guard([&] {
    require(value, "value");
    const DType type = plain_dtype(dtype);
    const Shape shape = shape_of(rank, dims);
    if (data != nullptr) check_elements(type, shape, data);
    Tensor tensor(type, shape);
    if (data != nullptr) std::memcpy(tensor.mutable_data(), data, tensor.bytes());
    give(std::move(tensor), value);
  });
}

ondine_error* ondine_tensor_wrap(int dtype, size_t rank, const int64_t* dims, void* data,
                                 void (*release)(void* user), void* user, ondine_value** value) {
  return guard([&] {
    require(value, "value");
    const DType type = plain_dtype(dtype);
    const Shape shape = shape_of(rank, dims);
    check_elements(type, shape, data);
    const auto owner = std::make_shared<Owner>();
    give(Tensor::share(type, shape, data, owner), value);
    owner->user = user;
    owner->release = release;
  });
}

ondine_error* ondine_tensor_strings(size_t rank, const int64_t* dims, const char* const* texts,
                                    const size_t* lengths, ondine_value** value) {
  return guard([&] {
    require(value, "value");
    Tensor tensor(DType::string, shape_of(rank, dims));
    const auto target = tensor.mutable_values<std::string>();
    if (!target.empty()) require(texts, "texts");
    for (std::size_t i = 0; i < target.size(); ++i) {
      require(texts[i], "a text");
      target[i] = lengths == nullptr ? std::string(texts[i]) : std::string(texts[i], lengths[i]);
    }
    give(std::move(tensor), value);
  });
}

ondine_error* ondine_tensor_info(const ondine_value* value, int* dtype, size_t* rank,
                                 const int64_t** dims, size_t* elements, size_t* bytes) {
  return guard([&] {
    const auto object = get(value);
    const Tensor& tensor = tensor_of(object);
    const auto size = static_cast<size_t>(tensor.size());
    if (dtype != nullptr) *dtype = static_cast<int>(tensor.dtype());
    if (rank != nullptr) *rank = tensor.shape().rank();
    if (dims != nullptr) *dims = tensor.shape().begin();
    if (elements != nullptr) *elements = size;
    if (bytes != nullptr) *bytes = tensor.dtype() == DType::string ? 0 : tensor.bytes();
  });
}

ondine_error* ondine_tensor_data(const ondine_value* value, void** data) {
  return guard([&] {
    require(data, "data");
    const auto object = get(value);
    if (tensor_of(object).dtype() == DType::string) {
      throw Error(ErrorCode::mismatch, "strings are read by ondine_tensor_string");
    }
    *data = object->tensor().mutable_data();
  });
}

ondine_error* ondine_tensor_string(const ondine_value* value, size_t index, const char** text,
                                   size_t* length) {
  return guard([&] {
    require(text, "text");
    const auto object = get(value);
    const auto texts = tensor_of(object).values<std::string>();
    if (index >= texts.size()) fail_index(index, texts.size());
    *text = texts[index].c_str();
    if (length != nullptr) *length = texts[index].size();
  });
}

ondine_error* ondine_value_sequence(const ondine_value* const* elements, size_t count,
                                    ondine_value** value) {
  return guard([&] {
    require(value, "value");
    give(Value::sequence(elements_of(elements, count)), value);
  });
}

ondine_error* ondine_value_map(const ondine_value* keys, const ondine_value* const* elements,
                               size_t count, ondine_value** value) {
  return guard([&] {
    require(value, "value");
    const Tensor tensor = get(keys)->tensor();
    const bool is_key = is_integer(tensor.dtype()) || tensor.dtype() == DType::string;
    if (!is_key || tensor.shape().rank() != 1) {
      throw Error(ErrorCode::mismatch,
                  "keys of a map are a tensor of rank 1 of integers or strings");
    }
    if (static_cast<size_t>(tensor.size()) != count) {
      throw Error(ErrorCode::mismatch, "a map of " + std::to_string(tensor.size()) + " keys has " +
                                           std::to_string(count) + " elements");
    }
    give(Value::map(tensor, elements_of(elements, count)), value);
  });
}

ondine_error* ondine_value_optional(const ondine_value* element, ondine_value** value) {
  return guard([&] {
    require(value, "value");
    give(element == nullptr ? Value::optional() : Value::optional(*get(element)), value);
  });
}

ondine_error* ondine_value_sparse(const ondine_value* elements, const ondine_value* indices,
                                  size_t rank, const int64_t* dims, ondine_value** value) {
  return guard([&] {
    require(value, "value");
    give(Value::sparse(get(elements)->tensor(), get(indices)->tensor(), shape_of(rank, dims)),
         value);
  });
}

ondine_error* ondine_value_kind(const ondine_value* value, int* kind) {
  return guard([&] {
    require(kind, "kind");
    *kind = static_cast<int>(get(value)->kind());
  });
}

ondine_error* ondine_value_count(const ondine_value* value, size_t* count) {
  return guard([&] {
    require(count, "count");
    *count = get(value)->elements().size();
  });
}

ondine_error* ondine_value_element(const ondine_value* value, size_t index,
                                   ondine_value** element) {
  return guard([&] {
    require(element, "element");
    const auto object = get(value);
    const auto& elements = object->elements();
    if (index >= elements.size()) fail_index(index, elements.size());
    give(elements[index], element);
  });
}

ondine_error* ondine_value_keys(const ondine_value* value, ondine_value** keys) {
  return guard([&] {
    require(keys, "keys");
    give(get(value)->keys(), keys);
  });
}

void ondine_value_free(ondine_value* value) { close(value); }
