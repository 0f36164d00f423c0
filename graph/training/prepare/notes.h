// The text of notes on a model under preparation.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

namespace ondine::graph {

// Different texts, in the order in which they were added.
class Texts {
 public:
  void add(std::string text) {
    if (known_.insert(text).second) all_.push_back(std::move(text));
  }
  bool empty() const noexcept { return all_.empty(); }
  const std::vector<std::string>& all() const noexcept { return all_; }

 private:
  std::unordered_set<std::string> known_;
  std::vector<std::string> all_;
};

// The first few, and how many more there are.
std::string listed(const std::vector<std::string>& names);
inline std::string listed(const Texts& texts) { return listed(texts.all()); }

}  // namespace ondine::graph
