#include "trainer/data/table/targets.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/message.h"
#include "core/text/letters.h"
#include "trainer/data/table/doubts.h"

namespace ondine::data {
namespace {

template <class Number>
std::optional<Number> parse(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return value;
}

// The numbers that begin the texts; all of them where there are as many.
template <class Number>
std::vector<Number> parse_all(const std::vector<std::string>& texts) {
  std::vector<Number> result;
  result.reserve(texts.size());
  for (const std::string& text : texts) {
    const auto value = parse<Number>(text);
    if (!value) break;
    result.push_back(*value);
  }
  return result;
}

template <class Number>
bool are_all(const std::vector<std::string>& texts) {
  return std::all_of(texts.begin(), texts.end(),
                     [](const std::string& text) { return parse<Number>(text).has_value(); });
}

}  // namespace

void Targets::begin(std::string file) { files.push_back({std::move(file), texts.size()}); }

void Targets::add(std::string text, std::uint64_t line) {
  texts.push_back(std::move(text));
  lines.push_back(line);
}

const std::string& Targets::file_of(std::size_t row) const {
  const auto after = std::find_if(files.begin() + 1, files.end(),
                                  [&](const File& file) { return file.first_row > row; });
  return std::prev(after)->name;
}

void append(Targets& targets, const Targets& more) {
  for (const Targets::File& file : more.files) {
    targets.files.push_back({file.name, targets.texts.size() + file.first_row});
  }
  targets.texts.insert(targets.texts.end(), more.texts.begin(), more.texts.end());
  targets.lines.insert(targets.lines.end(), more.lines.begin(), more.lines.end());
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool is_missing(std::string_view text) {
  constexpr std::string_view words[] = {"nan",  "-nan",   "+nan",    "na",      "n/a",
                                        "null", "none",   "#n/a",    "#na",     "#n/a n/a",
                                        "<na>", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"};
  text = trimmed(text);
  if (text.empty()) return true;
  return std::ranges::any_of(words, [&](std::string_view word) { return is_word(text, word); });
}

std::optional<double> parse_number(std::string_view text) { return parse<double>(text); }

TargetReader::TargetReader(const Targets& training, const std::vector<std::string>& classes) {
  if (training.texts.empty()) return;  // of data whose targets are not read
  const std::set<std::string> found(training.texts.begin(), training.texts.end());
  const std::set<std::string> named(classes.begin(), classes.end());
  given_ = std::includes(named.begin(), named.end(), found.begin(), found.end());
  if (!given_ && are_all<std::int64_t>(training.texts)) {
    kind_ = Kind::integers;
  } else if (!given_ && are_all<double>(training.texts)) {
    kind_ = Kind::numbers;
  } else {
    kind_ = Kind::classes;
    given_ = !classes.empty();
    note_numbers(training);
    classes_ = given_ ? classes : std::vector<std::string>(found.begin(), found.end());
    if (!given_ && note_.empty()) note_ = doubt_about(training.column, classes_);
  }
}

void TargetReader::note_numbers(const Targets& training) {
  if (given_) return;
  std::size_t numbers = 0;
  std::size_t other = 0;
  for (std::size_t i = 0; i < training.texts.size(); ++i) {
    parse_number(training.texts[i]) ? ++numbers : other = i;
  }
  if (2 * numbers < training.texts.size()) return;
  note_ = cat("column ", quoted(training.column), " holds classes, not numbers, for example ",
              quoted(training.texts[other]), " in line ", training.lines[other], " of ",
              quoted(training.file_of(other)));
}

std::vector<std::int64_t> TargetReader::positions(const Targets& targets) const {
  std::map<std::string_view, std::int64_t> known;
  for (const std::string& name : classes_) {
    known.emplace(name, static_cast<std::int64_t>(known.size()));
  }
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < targets.texts.size(); ++i) {
    const auto found = known.find(targets.texts[i]);
    if (found == known.end()) {
      fail(ErrorCode::mismatch, "file ", quoted(targets.file_of(i)), ", line ", targets.lines[i],
           ": class ", quoted(targets.texts[i]), " is none of the ",
           given_ ? "model's classes" : "training data");
    }
    result.push_back(found->second);
  }
  return result;
}

Tensor TargetReader::read(const Targets& targets) const {
  const Shape rows{static_cast<std::int64_t>(targets.texts.size())};
  const auto require = [&](const auto& values) {
    if (values.size() < targets.texts.size()) {
      fail(ErrorCode::mismatch, "column ", quoted(targets.column), " of ",
           quoted(targets.file_of(values.size())), " holds other values than in the training data");
    }
    return Tensor::of(rows, values);
  };
  if (kind_ == Kind::integers) return require(parse_all<std::int64_t>(targets.texts));
  if (kind_ == Kind::numbers) {
    const auto numbers = parse_all<double>(targets.texts);
    const auto infinite = std::find_if_not(numbers.begin(), numbers.end(),
                                           [](double value) { return std::isfinite(value); });
    if (infinite == numbers.end()) return require(numbers);
    const auto row = static_cast<std::size_t>(infinite - numbers.begin());
    fail(ErrorCode::corrupt, "file ", quoted(targets.file_of(row)), ", line ", targets.lines[row],
         ", column ", quoted(targets.column), ": ", quoted(targets.texts[row]),
         " is not a finite number");
  }
  return Tensor::of(rows, positions(targets));
}

}  // namespace ondine::data
