// The one exception type of the library.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include <ondine/export.h>

namespace ondine {

enum class ErrorCode {
  invalid_model,  // the model breaks a rule of the standard
  unsupported,    // a valid request for something this build does not have
  mismatch,       // a feed, name, dtype, rank or size that does not fit the model
  corrupt,        // stored bytes are damaged
  io,             // the operating system refused a file operation
  limit,          // a bound of Limits was reached
  cancelled,      // the caller asked to stop
  internal,       // a defect of this library
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
