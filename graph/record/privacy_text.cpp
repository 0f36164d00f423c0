#include "graph/record/privacy_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>
#include <string_view>

#include "core/message.h"
#include "graph/record/training_entries.h"

namespace ondine::graph {
namespace {

constexpr const char* secure = " secure";

const std::string* find_entry(const ModelDef& model, std::string_view name) {
  for (const auto& [key, text] : model.metadata) {
    if (key == name) return &text;
  }
  return nullptr;
}

bool asks_for_secure_noise(const ModelDef& model) {
  const std::string* const text = find_entry(model, entry::privacy);
  const auto privacy = text == nullptr ? std::nullopt : read_privacy(*text);
  return privacy && privacy->secure_noise;
}

bool makes_noise(const NodeDef& node, const std::string& output) {
  const auto& outputs = node.outputs;
  return node.domain.empty() && node.op == "RandomNormalLike" &&
         find(node.attributes, "seed") == nullptr &&
         std::find(outputs.begin(), outputs.end(), output) != outputs.end();
}

template <class T>
std::string shortest(T value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

template <class T>
bool read(const char*& at, const char* end, T& value) {
  while (at != end && *at == ' ') ++at;
  const auto [next, error] = std::from_chars(at, end, value);
  at = next;
  return error == std::errc();
}

}  // namespace

std::string to_text(const Privacy& privacy) {
  return shortest(privacy.clip) + " " + shortest(privacy.noise) + " " +
         shortest(privacy.batch_size) + (privacy.secure_noise ? secure : "");
}

std::optional<Privacy> read_privacy(const std::string& text) {
  Privacy result;
  const char* at = text.data();
  const char* const end = at + text.size();
  const bool holds =
      read(at, end, result.clip) && read(at, end, result.noise) && read(at, end, result.batch_size);
  result.secure_noise = holds && std::string_view(at, end) == secure;
  const bool fits = holds && (at == end || result.secure_noise) && std::isfinite(result.clip) &&
                    result.clip > 0 && std::isfinite(result.noise) && result.noise >= 0 &&
                    result.batch_size > 0;
  return fits ? std::optional<Privacy>(result) : std::nullopt;
}

std::vector<std::string> secure_noise_of(const ModelDef& model) {
  std::vector<std::string> names;
  if (!asks_for_secure_noise(model)) return names;
  const std::string* const text = find_entry(model, entry::secure_noise);
  std::istringstream lines(text == nullptr ? std::string() : *text);
  for (std::string line; std::getline(lines, line);) names.push_back(std::move(line));
  return names;
}

void require_secure_noise(const ModelDef& model) {
  if (model.training.empty() || !asks_for_secure_noise(model)) return;
  const std::vector<std::string> names = secure_noise_of(model);
  if (names.empty()) {
    fail(ErrorCode::mismatch, "the model's metadata ", entry::privacy,
         " asks for secure noise, and ", entry::secure_noise, " names none");
  }
  for (const std::string& name : names) {
    const auto makes = [&](const TrainingInfoDef& info) {
      return info.algorithm &&
             std::any_of(info.algorithm->nodes.begin(), info.algorithm->nodes.end(),
                         [&](const NodeDef& node) { return makes_noise(node, name); });
    };
    if (std::any_of(model.training.begin(), model.training.end(), makes)) continue;
    fail(ErrorCode::mismatch, "the model's metadata ", entry::secure_noise, " names ", quoted(name),
         ", which no RandomNormalLike without a seed makes in its algorithms");
  }
}

}  // namespace ondine::graph
