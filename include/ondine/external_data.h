// Tensor data that a model keeps outside its own bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ondine {

struct ExternalDataRequest {
  std::string location;  // as the model says: usually a file name, not checked in any way
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // in bytes, within Limits::tensor_bytes
};

// Returns exactly the bytes that are asked for (another count is Error(mismatch)); what it throws
// ends the loading. Called on the loading thread, once for each tensor.
using ExternalDataReader = std::function<std::vector<std::byte>(const ExternalDataRequest&)>;

}  // namespace ondine
