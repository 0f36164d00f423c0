// The one exception type of the library.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include <ondine/export.h>

namespace ondine {

// The numbers never change. Those of <ondine/c.h> are larger by 1, since 0 means success there.
enum class ErrorCode {
  invalid_model = 0,   // the model breaks a rule of the standard
  unsupported = 1,     // a valid request for something this build does not have
  mismatch = 2,        // a feed, dtype, rank, size or setting that does not fit the model
  corrupt = 3,         // stored bytes are damaged
  io = 4,              // the operating system refused a file operation
  limit = 5,           // a bound of Limits was reached
  cancelled = 6,       // the caller asked to stop
  internal = 7,        // a defect of this library
  not_finite = 8,      // a metric of a training step is NaN or infinite
  not_found = 9,       // there is no such file, name or index
  exists = 10,         // a file that must not be replaced is there already
  invalid_option = 11  // an option that does not exist, has no effect or has a value out of range
};

// Stable lower-case name of a code, for example "invalid_model".
ONDINE_API const char* to_string(ErrorCode code) noexcept;

// Message first, then one line of context for each enclosing object, innermost first:
//   inner dimensions differ: A has 3, B has 5
//     in node 'fc1' (Gemm-13)
//     in model 'mnist.onnx'
class ONDINE_API Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message);
  Error(const Error&);
  Error(Error&&) noexcept;
  Error& operator=(const Error&);
  Error& operator=(Error&&) noexcept;
  ~Error() override;

  ErrorCode code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  const std::vector<std::string>& context() const noexcept { return context_; }
  const char* what() const noexcept override { return what_.c_str(); }

  // Appends one enclosing object, such as "node 'fc1' (Gemm-13)", unless it is the last one.
  void add_context(std::string frame);

 private:
  ErrorCode code_;
  std::string message_;
  std::vector<std::string> context_;
  std::string what_;
};

}  // namespace ondine
