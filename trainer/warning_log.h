// The warnings of a model: those of loading it, and those that calls add.
#pragma once

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace ondine::trainer {

// Thread-safe.
class WarningLog {
 public:
  using Listener = std::function<void(const std::string&)>;

  explicit WarningLog(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  // Each text once, and no more than the first hundred.
  void add(const std::string& text) {
    Listener listener;
    {
      const std::lock_guard lock(mutex_);
      if (texts_.size() >= 100 || std::ranges::find(texts_, text) != texts_.end()) return;
      texts_.push_back(text);
      listener = listener_;
    }
    if (listener) listener(text);
  }
  // Told of each text, those that are there included.
  void set_listener(Listener listener) {
    std::vector<std::string> known;
    {
      const std::lock_guard lock(mutex_);
      listener_ = listener;
      known = texts_;
    }
    if (!listener) return;
    for (const std::string& text : known) listener(text);
  }
  std::vector<std::string> texts() const {
    const std::lock_guard lock(mutex_);
    return texts_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> texts_;
  Listener listener_;
};

}  // namespace ondine::trainer
