// Checkpoints to save and compare.
#pragma once

#include <string>
#include <vector>

#include "checkpoints/format.h"

namespace ondine::test {

// A tensor of every dtype, with values at the ends of its range where that is easy.
std::vector<CheckpointVariable> variables_of_every_dtype();

// Differs from every other step in all of its state. `elements` of its largest tensor.
Checkpoint sample_checkpoint(std::uint64_t step, std::int64_t elements = 40);

// Same in every field and in every bit of the state.
bool identical(const Checkpoint& a, const Checkpoint& b);

std::vector<std::byte> encoded(const Checkpoint& checkpoint);
Checkpoint decoded(std::span<const std::byte> bytes);

// The error message of decoding; empty when there was none. Fails the test for any other code.
std::string refusal(std::span<const std::byte> bytes, ErrorCode code = ErrorCode::corrupt);

// A new empty folder, removed with all that is in it when it goes.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const noexcept { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  // Sorted.
  std::vector<std::string> names() const;

 private:
  std::string path_;
};

}  // namespace ondine::test
