// The warnings of a model: those of loading it, and those that calls add.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

namespace ondine::trainer {

// Thread-safe.
class WarningLog {
 public:
  explicit WarningLog(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  // Each text once, and no more than the first hundred.
  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (texts_.size() < 100 && std::ranges::find(texts_, text) == texts_.end()) {
      texts_.push_back(text);
    }
  }
  std::vector<std::string> texts() const {
    const std::lock_guard lock(mutex_);
    return texts_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> texts_;
};

}  // namespace ondine::trainer
