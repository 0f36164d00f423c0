#include "calls.h"

namespace ondine::python {

Raised& raised_by_source() {
  thread_local Raised raised;
  return raised;
}

nb::str text_of(std::string_view bytes) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

int tell(Raised& raised, nb::handle call, std::string_view report) {
  bool goes_on = true;
  const bool good = raised.guard([&] {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (call.is_none()) return;
    const nb::object answer = call(text_of(report));
    goes_on = answer.ptr() != Py_False;
  });
  return good && goes_on ? 0 : 1;
}

void check(ondine_error* error) {
  if (error == nullptr) return;
  if (raised_by_source().is_set()) {
    ondine_error_free(error);
    raised_by_source().rethrow();
  }
  const int code = ondine_error_code(error);
  const std::string message = ondine_error_message(error);
  const std::string reason = ondine_error_reason(error);
  nb::list context;
  for (size_t i = 0; ondine_error_context(error, i) != nullptr; ++i) {
    context.append(ondine_error_context(error, i));
  }
  ondine_error_free(error);
  const nb::object make = nb::module_::import_("ondine_train.errors").attr("make_error");
  const nb::object made = make(code, ondine_code_name(code), message, reason, context);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  throw nb::python_error();
}

}  // namespace ondine::python
