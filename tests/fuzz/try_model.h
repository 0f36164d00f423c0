// Everything that a caller may do with a model that came from anywhere.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>

#include <ondine/model.h>

#include "tests/fuzz/choices.h"

namespace ondine::test {

// Bounds under which one trial ends within a second and takes little memory.
LoadOptions narrow_options();

// A fault of the library, as opposed to a model that it refuses with an Error.
struct Fault : std::logic_error {
  using std::logic_error::logic_error;
};

struct Trial {
  bool loaded = false;
  bool inferred = false;
  bool trained = false;
  std::string refusal;  // the last Error
};

// Loads the model and calls infer, initialize and train_step with feeds of the declared types.
// Throws Fault when an error is none of a definite kind, when a failed call changed the state, or
// when the same call gives other bits the second time.
Trial try_model(std::span<const std::byte> bytes, Choices& choices);

// An Error(internal) becomes a Fault; other exceptions than Error pass.
template <class Call>
bool refuses(Call&& call, std::string* refusal = nullptr) {
  try {
    call();
    return false;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw Fault(error.what());
    if (refusal != nullptr) *refusal = error.what();
    return true;
  }
}

}  // namespace ondine::test
