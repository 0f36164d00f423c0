#include "graph/check/findings.h"

#include <algorithm>

namespace ondine::graph {
namespace {

constexpr std::array gravest_first{ErrorCode::invalid_model, ErrorCode::corrupt,
                                   ErrorCode::mismatch, ErrorCode::limit, ErrorCode::unsupported};

std::string in_one_line(const Error& error) {
  std::string line = error.message();
  for (const auto& frame : error.context()) line += ", in " + frame;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

}  // namespace

bool Findings::about_model(ErrorCode code) noexcept {
  return std::find(gravest_first.begin(), gravest_first.end(), code) != gravest_first.end();
}

void Findings::count(ErrorCode code) noexcept {
  const auto gravity = [](ErrorCode of) {
    return std::find(gravest_first.begin(), gravest_first.end(), of);
  };
  if (count_ == 0 || gravity(code) < gravity(gravest_)) gravest_ = code;
  ++count_;
}

void Findings::add(const Error& error) { add(error.code(), in_one_line(error)); }

void Findings::add_once(const Error& error) {
  if (std::ranges::find(texts_, in_one_line(error)) == texts_.end()) add(error);
}

void Findings::warn(const Error& error) { warn(error.code(), in_one_line(error)); }

void Findings::keep_warning(std::string text) {
  const bool known = std::ranges::find(warnings_, text) != warnings_.end();
  if (!known && warnings_.size() < max_texts_) warnings_.push_back(std::move(text));
}

std::vector<std::string> Findings::texts() const {
  auto lines = texts_;
  if (count_ > lines.size()) lines.push_back(cat("... and ", count_ - lines.size(), " more"));
  return lines;
}

void Findings::throw_if_any() const {
  if (empty()) return;
  std::string message;
  for (const auto& line : texts()) {
    if (!message.empty()) message += '\n';
    message += line;
  }
  throw Error(gravest_, std::move(message));
}

}  // namespace ondine::graph
