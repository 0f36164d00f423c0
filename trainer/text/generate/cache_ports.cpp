#include "trainer/text/generate/cache_ports.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/message.h"
#include "core/text/letters.h"

namespace ondine::text {
namespace {

constexpr std::string_view unknown_symbol = "?";

// Dims as the type spells them: "tensor(float)[N, 4, past, 16]". Empty where it does not tell.
std::vector<std::string> spelled_dims(const PortInfo& port) {
  std::vector<std::string> dims;
  const std::size_t open = port.type.find('[');
  if (open == std::string::npos || !port.type.ends_with("]")) return dims;
  std::string_view rest = std::string_view(port.type).substr(open + 1);
  rest.remove_suffix(1);
  while (true) {
    const std::size_t comma = rest.find(", ");
    dims.emplace_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 2);
  }
  if (dims.size() != port.dims->size()) dims.clear();
  return dims;
}

// Words and numbers of a name, without those that tell inputs from outputs.
std::vector<std::string> words_of(std::string_view name) {
  constexpr std::array<std::string_view, 9> sides{"past",   "present", "in",  "out", "input",
                                                  "output", "cache",   "new", "old"};
  std::vector<std::string> words;
  std::string word;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto flush = [&] {
    if (!word.empty() && std::ranges::find(sides, word) == sides.end()) words.push_back(word);
    word.clear();
  };
  for (const char c : lower_case(std::string(name))) {
    const bool is_word = is_digit(c) || (c >= 'a' && c <= 'z');
    if (!word.empty() && (!is_word || is_digit(word.back()) != is_digit(c))) flush();
    if (is_word) word += c;
  }
  flush();
  // "past_key_values" is one word for keys and for values.
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "key" && words[i + 1] == "values") {
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i),
                  words.begin() + static_cast<std::ptrdiff_t>(i) + 2);
      break;
    }
  }
  return words;
}

// The axes of samples and tokens; whether the input has them.
bool find_axes(const PortInfo& ids, CachePorts& cache) {
  const std::vector<std::int64_t>& dims = *cache.past.dims;
  std::vector<std::size_t> open;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] < 0) open.push_back(axis);
  }
  const bool open_batch = (*ids.dims)[0] < 0;
  cache.batch = dims.size();  // none
  if (open_batch) {
    const std::vector<std::string> of_ids = spelled_dims(ids);
    const std::vector<std::string> spelled = spelled_dims(cache.past);
    auto batch = open.end();
    if (!of_ids.empty() && !spelled.empty() && of_ids[0] != unknown_symbol) {
      batch =
          std::ranges::find_if(open, [&](std::size_t axis) { return spelled[axis] == of_ids[0]; });
    }
    if (batch == open.end() && open.size() == 2) batch = open.begin();
    if (batch == open.end()) return false;
    cache.batch = *batch;
    open.erase(batch);
  }
  if (open.size() != 1) return false;
  cache.axis = open.front();
  return dims.size() >= 3;
}

bool fits(const CachePorts& cache, const PortInfo& output) {
  if (output.dtype != cache.past.dtype || !output.dims) return false;
  if (output.dims->size() != cache.past.dims->size()) return false;
  for (std::size_t axis = 0; axis < output.dims->size(); ++axis) {
    const std::int64_t before = (*cache.past.dims)[axis];
    const std::int64_t after = (*output.dims)[axis];
    if (axis == cache.axis ? after >= 0 : before >= 0 && after >= 0 && before != after)
      return false;
  }
  return true;
}

[[noreturn]] void refuse_cache(const PortInfo& input, std::string_view why) {
  fail(ErrorCode::mismatch, "input ", quoted(input.name), ", a ", input.type, ", ", why);
}

std::size_t find_present(const CachePorts& cache, const std::vector<PortInfo>& outputs) {
  std::vector<std::size_t> fitting;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (fits(cache, outputs[i])) fitting.push_back(i);
  }
  if (fitting.size() > 1) {
    const std::vector<std::string> words = words_of(cache.past.name);
    std::erase_if(fitting, [&](std::size_t i) { return words_of(outputs[i].name) != words; });
  }
  if (fitting.size() == 1) return fitting.front();
  refuse_cache(cache.past,
               fitting.empty()
                   ? "is no cache: no output has its type and dims but for one, under a name "
                     "that fits"
                   : "is a cache with more than one output that fits");
}

// Takes the output of the new tokens of this cache; empty if there is none.
std::string take_fresh(const PortInfo& past, std::vector<PortInfo>& outputs) {
  const std::string name = cat(fresh_prefix, past.name);
  const auto taken =
      std::erase_if(outputs, [&](const PortInfo& output) { return output.name == name; });
  return taken > 0 ? name : std::string();
}

}  // namespace

std::vector<CachePorts> pair_caches(const PortInfo& ids, std::span<const PortInfo> inputs,
                                    std::vector<PortInfo>& outputs) {
  std::vector<CachePorts> caches;
  for (const PortInfo& input : inputs) {
    caches.push_back({.past = input, .present = {}, .fresh = take_fresh(input, outputs)});
  }
  std::vector<PortInfo> rest = outputs;
  for (CachePorts& cache : caches) {
    const PortInfo& input = cache.past;
    if (!find_axes(ids, cache)) {
      refuse_cache(
          input,
          "is not understood: a cache has one open dim, that of the tokens, besides that of the "
          "samples");
    }
    cache.present = outputs[find_present(cache, outputs)].name;
  }
  for (const CachePorts& cache : caches) {
    const auto taken =
        std::erase_if(rest, [&](const PortInfo& output) { return output.name == cache.present; });
    if (taken == 0) refuse_cache(cache.past, "shares its output with another cache");
  }
  outputs = std::move(rest);
  return caches;
}

}  // namespace ondine::text
