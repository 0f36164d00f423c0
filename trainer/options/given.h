// Options that were given, with checked values.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/options.h>

namespace ondine::options {

// The values of one option, which fit its kind and range.
class Given {
 public:
  Given(std::string option, std::vector<std::string> texts)
      : option_(std::move(option)), texts_(std::move(texts)) {}

  const std::string& option() const noexcept { return option_; }  // as messages spell it
  const std::vector<std::string>& texts() const noexcept { return texts_; }
  const std::string& text() const noexcept { return texts_.back(); }
  bool flag() const noexcept { return text() == "true"; }
  double real() const;
  std::int64_t integer() const;
  std::uint64_t bytes() const;
  std::chrono::milliseconds duration() const;

 private:
  std::string option_;
  std::vector<std::string> texts_;  // at least one
};

// The option of that name, of one that it had or of one with '_' for '-'; null if there is none.
const OptionInfo* find_in(std::span<const OptionInfo> table, std::string_view name) noexcept;

class GivenOptions {
 public:
  // `owner` names the table in messages. Options named in `shared` that have no effect are left
  // out; for others throws what prepare_options and the like do. The table must outlive it.
  GivenOptions(std::span<const OptionInfo> table, std::string_view owner,
               const OptionValues& values, OptionSpelling spelling,
               std::span<const std::string> shared = {});

  std::span<const OptionInfo> table() const noexcept { return table_; }

  // Null if the option is not given. The name is that of the table.
  const Given* find(const std::string& name) const noexcept;

 private:
  void take(const OptionInfo& option, const std::string& text);
  void check_effects(std::span<const std::string> shared);
  void require() const;
  bool holds(const OptionCondition& condition) const;
  // The value that is given, else the default.
  const std::string& value_of(const std::string& name) const;
  std::string spelled_name(const std::string& name) const;
  [[noreturn]] void refuse_without_effect(const OptionInfo& option) const;

  std::span<const OptionInfo> table_;
  OptionSpelling spelling_;
  std::map<std::string, Given> given_;
};

}  // namespace ondine::options
