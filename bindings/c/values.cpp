// Lists of named values, and cancel flags.
#include <algorithm>
#include <string>

#include "bindings/c/call.h"
#include "bindings/c/objects.h"
#include "bindings/c/tensors.h"

using namespace ondine;     // NOLINT
using namespace ondine::c;  // NOLINT

namespace {

void set(ValuesObject& list, std::string name, Value value) {
  const std::lock_guard lock(list.mutex);
  const auto found = std::find_if(list.values.begin(), list.values.end(),
                                  [&](const NamedValue& one) { return one.first == name; });
  if (found == list.values.end()) {
    list.values.emplace_back(std::move(name), std::move(value));
  } else {
    found->second = std::move(value);
  }
}

const NamedValue& entry(const ValuesObject& list, size_t index) {
  if (index >= list.values.size()) {
    throw Error(ErrorCode::not_found, "there is no value " + std::to_string(index) +
                                          ": the list has " + std::to_string(list.values.size()));
  }
  return list.values[index];
}

}  // namespace

ondine_error* ondine_values_new(ondine_values** values) {
  return guard([&] {
    require(values, "values");
    *values = New<ondine_values>().release();
  });
}

ondine_error* ondine_values_set(ondine_values* values, const char* name,
                                const ondine_value* value) {
  return guard([&] {
    const auto list = get(values);
    set(*list, text_in(name, "name"), *get(value));
  });
}

ondine_error* ondine_values_set_tensor(ondine_values* values, const char* name, int dtype,
                                       size_t rank, const int64_t* dims, const void* data) {
  return guard([&] {
    const auto list = get(values);
    const DType type = plain_dtype(dtype);
    const Shape shape = shape_of(rank, dims);
    check_elements(type, shape, data);
    set(*list, text_in(name, "name"), Tensor::wrap(type, shape, data));
  });
}

ondine_error* ondine_values_count(const ondine_values* values, size_t* count) {
  return guard([&] {
    require(count, "count");
    *count = get(values)->copy().size();
  });
}

ondine_error* ondine_values_name(const ondine_values* values, size_t index, const char** name) {
  return guard([&] {
    require(name, "name");
    const auto list = get(values);
    const std::lock_guard lock(list->mutex);
    *name = entry(*list, index).first.c_str();
  });
}

ondine_error* ondine_values_at(const ondine_values* values, size_t index, ondine_value** value) {
  return guard([&] {
    require(value, "value");
    const auto list = get(values);
    const std::lock_guard lock(list->mutex);
    New<ondine_value> made(entry(*list, index).second);
    *value = made.release();
  });
}

ondine_error* ondine_values_get(const ondine_values* values, const char* name,
                                ondine_value** value) {
  return guard([&] {
    require(value, "value");
    const Results results(get(values)->copy());
    New<ondine_value> made(results[text_in(name, "name")]);
    *value = made.release();
  });
}

ondine_error* ondine_values_scalar(const ondine_values* values, const char* name, double* number) {
  return guard([&] {
    require(number, "number");
    *number = Results(get(values)->copy()).scalar(text_in(name, "name"));
  });
}

void ondine_values_free(ondine_values* values) { close(values); }

ondine_error* ondine_cancel_new(ondine_cancel** cancel) {
  return guard([&] {
    require(cancel, "cancel");
    *cancel = New<ondine_cancel>().release();
  });
}

ondine_error* ondine_cancel_request(ondine_cancel* cancel) {
  return guard([&] { *get(cancel)->flag = true; });
}

ondine_error* ondine_cancel_reset(ondine_cancel* cancel) {
  return guard([&] { *get(cancel)->flag = false; });
}

void ondine_cancel_free(ondine_cancel* cancel) { close(cancel); }
