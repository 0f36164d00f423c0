// Calls of <ondine/c.h> from Python: errors become exceptions, handles are owned.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <ondine/c.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ondine::python {

namespace nb = nanobind;
using Dict = nb::typed<nb::dict, nb::str, nb::any>;

// Throws the Python exception of the error, if there is one, and frees it.
void check(ondine_error* error);
// Without the GIL.
template <class Call>
void run(Call&& call) {
  ondine_error* error = nullptr;
  {
    const nb::gil_scoped_release released;
    error = call();
  }
  check(error);
}

// A text of the library.
template <class Call>
std::string text(Call&& call) {
  char* made = nullptr;
  run([&] { return call(&made); });
  std::string result = made == nullptr ? "" : made;
  ondine_free(made);
  return result;
}

// A handle that is freed with the object, or by close(). Calls after that are errors of the
// library.
template <class Handle, void (*Free)(Handle*)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle* handle) noexcept : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() { Free(handle_); }
  Handle* get() const noexcept { return handle_; }
  void close() noexcept { Free(handle_); }
  Handle* release() noexcept { return std::exchange(handle_, nullptr); }

 private:
  Handle* handle_ = nullptr;
};

using Values = Owned<ondine_values, ondine_values_free>;
using Value = Owned<ondine_value, ondine_value_free>;
using ModelHandle = Owned<ondine_model, ondine_model_free>;
using DatasetHandle = Owned<ondine_dataset, ondine_dataset_free>;
using BatchesHandle = Owned<ondine_batches, ondine_batches_free>;
using TrainerHandle = Owned<ondine_trainer, ondine_trainer_free>;
using FederatedHandle = Owned<ondine_federated_worker, ondine_federated_worker_free>;

using Pairs = std::vector<std::pair<std::string, std::string>>;
// Options as the library takes them.
class Options {
 public:
  explicit Options(const Pairs& pairs) {
    for (const auto& [name, value] : pairs) list_.push_back({name.c_str(), value.c_str()});
    list_.push_back({nullptr, nullptr});
  }
  const ondine_option* list() const noexcept { return list_.data(); }

 private:
  std::vector<ondine_option> list_;
};
// Names; an empty list is NULL, for the default ones.
class Names {
 public:
  explicit Names(const std::vector<std::string>& names) {
    for (const std::string& name : names) list_.push_back(name.c_str());
    if (!list_.empty()) list_.push_back(nullptr);
  }
  const char* const* list() const noexcept { return list_.empty() ? nullptr : list_.data(); }

 private:
  std::vector<const char*> list_;
};

// The exception that a callback of Python raised in the midst of a call, which ends the call.
class Raised {
 public:
  bool is_set() const noexcept { return error_ != nullptr; }
  // Runs the body with the GIL; false where it raised, now or before.
  template <class Body>
  bool guard(Body&& body) noexcept {
    if (error_ != nullptr) return false;
    const nb::gil_scoped_acquire acquired;
    try {
      body();
      return true;
    } catch (...) {
      error_ = std::current_exception();
      return false;
    }
  }
  void clear() noexcept { error_ = nullptr; }
  // Raises it again.
  void rethrow() {
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  std::exception_ptr error_;
};

// Passes a report to a callback of Python; False, or an exception, ends the run. Looks for Ctrl-C
// too. `call` may be None.
int tell(Raised& raised, nb::handle call, std::string_view report);

// Bytes that make no character become U+FFFD.
nb::str text_of(std::string_view bytes);

// A text of a call whose callbacks are Python's. The exception of one takes the place of the
// result.
template <class Call>
std::string text(Raised& raised, Call&& call) {
  try {
    std::string result = text(std::forward<Call>(call));
    raised.rethrow();
    return result;
  } catch (nb::python_error&) {
    raised.rethrow();
    throw;
  }
}

// Exception raised by a source of rows, which the library reads on the thread of the call.
Raised& raised_by_source();

// The handle of a model of Python; NULL for anything else.
const ondine_model* model_in(nb::handle object);
nb::object new_model(ondine_model* made);

void bind_model(nb::module_& module);
void bind_arrow(nb::module_& module);
void bind_data(nb::module_& module);
void bind_trainer(nb::module_& module);
void bind_finetune(nb::module_& module);
void bind_language(nb::module_& module);
void bind_federated(nb::module_& module);

}  // namespace ondine::python
