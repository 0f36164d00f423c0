// Declares options, each with what it sets in a Target.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ondine/error.h>

#include "trainer/options/given.h"

namespace ondine::options {

// One option and its effect, which `set` has on a target once the option is given.
template <class Target>
struct Row {
  OptionInfo info;
  std::function<void(Target&, const Given&)> set;

  Row& by_default(std::string text) {
    info.default_value = std::move(text);
    return *this;
  }
  Row& within(double low, double high) {
    info.low = low;
    info.high = high;
    return *this;
  }
  Row& from(double low) {
    info.low = low;
    return *this;
  }
  Row& above(double low) {
    info.above_low = true;
    return from(low);
  }
  Row& below(double high) {
    info.below_high = true;
    info.high = high;
    return *this;
  }
  Row& repeats() {
    info.repeats = true;
    return *this;
  }
  Row& several() {
    info.several = true;
    return repeats();
  }
  Row& rare() {
    info.rare = true;
    return *this;
  }
  Row& letter(char one) {
    info.letter = one;
    return *this;
  }
  Row& former(std::string name) {
    info.former.push_back(std::move(name));
    return *this;
  }
  Row& synonym(std::string word, std::string choice) {
    info.synonyms.emplace_back(std::move(word), std::move(choice));
    return *this;
  }
  // The option has an effect only with these values of another one.
  Row& with(std::string option, std::vector<std::string> choices) {
    info.applies.push_back({std::move(option), std::move(choices)});
    return *this;
  }
  // The option has an effect only where one of these is given.
  Row& needs(std::vector<std::string> options) {
    for (std::string& one : options) info.applies.push_back({std::move(one)});
    return *this;
  }
  // Another help, for a row of another group that means a little more or less here.
  Row& says(std::string help) {
    info.help = std::move(help);
    return *this;
  }
  // The option always has an effect here.
  Row& always() {
    info.applies.clear();
    return *this;
  }
  Row& required() {
    info.required = true;
    return *this;
  }
  Row& hidden() {
    info.hidden = true;
    return *this;
  }
  // A name of before that meant something else: it is no option, but the error names this one.
  Row& replaces(std::string name) {
    info.replaces.push_back(std::move(name));
    return *this;
  }
  Row& excludes(std::string option) {
    info.excludes.push_back(std::move(option));
    return *this;
  }
};

template <class Target>
class Rows {
 public:
  explicit Rows(OptionGroup group) : group_(group) {}

  // Options that follow stand under it in the help; rows of other groups stay under their own where
  // it is empty.
  void heading(std::string text) { heading_ = std::move(text); }

  template <class Set>  // set(target, bool)
  Row<Target>& flag(std::string name, std::string help, Set set) {
    return add(std::move(name), OptionKind::flag, "", std::move(help),
               [set](Target& to, const Given& given) { set(to, given.flag()); });
  }
  template <class Set>  // set(target, double)
  Row<Target>& real(std::string name, std::string value, std::string help, Set set) {
    return add(std::move(name), OptionKind::real, std::move(value), std::move(help),
               [set](Target& to, const Given& given) { set(to, given.real()); });
  }
  template <class Set>  // set(target, std::int64_t)
  Row<Target>& integer(std::string name, std::string value, std::string help, Set set) {
    return add(std::move(name), OptionKind::integer, std::move(value), std::move(help),
               [set](Target& to, const Given& given) { set(to, given.integer()); });
  }
  template <class Set>  // set(target, std::uint64_t)
  Row<Target>& bytes(std::string name, std::string help, Set set) {
    return add(std::move(name), OptionKind::bytes, "BYTES", std::move(help),
               [set](Target& to, const Given& given) { set(to, given.bytes()); });
  }
  template <class Set>  // set(target, std::chrono::milliseconds)
  Row<Target>& duration(std::string name, std::string help, Set set) {
    return add(std::move(name), OptionKind::duration, "TIME", std::move(help),
               [set](Target& to, const Given& given) { set(to, given.duration()); });
  }
  template <class Set>  // set(target, const Given&)
  Row<Target>& text(std::string name, std::string value, std::string help, Set set) {
    return add(std::move(name), OptionKind::text, std::move(value), std::move(help), set);
  }
  // A number whose setter also names the option.
  template <class Set>  // set(target, const Given&)
  Row<Target>& named_integer(std::string name, std::string value, std::string help, Set set) {
    return add(std::move(name), OptionKind::integer, std::move(value), std::move(help), set);
  }
  template <class Value, class Set>  // set(target, const Value&)
  Row<Target>& choice(std::string name, std::vector<std::pair<std::string, Value>> values,
                      std::string help, Set set) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : values) keys.push_back(key);
    Row<Target>& row = add(std::move(name), OptionKind::choice, "NAME", std::move(help),
                           [values, set](Target& to, const Given& given) {
                             const auto found = std::find_if(
                                 values.begin(), values.end(),
                                 [&](const auto& one) { return one.first == given.text(); });
                             set(to, found->second);
                           });
    row.info.choices = std::move(keys);
    return row;
  }

  // A row of another group, which sets part(target).
  template <class Other, class Part>
  Row<Target>& take(const Rows<Other>& from, std::string_view name, Part part) {
    const Row<Other>& row = from.at(name);
    rows_.push_back({row.info, [set = row.set, part](Target& to, const Given& given) {
                       set(part(to), given);
                     }});
    rows_.back().info.group = group_;
    if (!heading_.empty()) rows_.back().info.heading = heading_;
    return rows_.back();
  }
  template <class Other, class Part>
  void take(const Rows<Other>& from, std::initializer_list<std::string_view> names, Part part) {
    for (const std::string_view name : names) take(from, name, part);
  }
  // After rows were taken: what they exclude are options of this group alone, and choices that they
  // need are those that its options have.
  void forget_others() {
    for (Row<Target>& row : rows_) {
      std::erase_if(row.info.excludes, [this](const std::string& name) { return !has(name); });
      for (OptionCondition& one : row.info.applies) {
        if (one.choices.empty() || !has(one.option)) continue;
        const std::vector<std::string>& known = at(one.option).info.choices;
        if (known.empty()) continue;
        std::erase_if(one.choices, [&](const std::string& choice) {
          return std::find(known.begin(), known.end(), choice) == known.end();
        });
        if (one.choices.empty()) {
          throw Error(ErrorCode::internal, "no choice of " + one.option + " has " + row.info.name);
        }
      }
    }
  }

  const std::vector<Row<Target>>& all() const noexcept { return rows_; }
  const Row<Target>& at(std::string_view name) const {
    const auto row = find(name);
    if (row == rows_.end()) {
      throw Error(ErrorCode::internal, "there is no row " + std::string(name));
    }
    return *row;
  }
  bool has(std::string_view name) const { return find(name) != rows_.end(); }
  std::vector<OptionInfo> infos() const {
    std::vector<OptionInfo> result;
    for (const Row<Target>& row : rows_) result.push_back(row.info);
    return result;
  }

 protected:
  auto find(std::string_view name) const {
    return std::find_if(rows_.begin(), rows_.end(),
                        [name](const Row<Target>& row) { return row.info.name == name; });
  }

  Row<Target>& add(std::string name, OptionKind kind, std::string value, std::string help,
                   std::function<void(Target&, const Given&)> set) {
    Row<Target> row;
    row.info.name = std::move(name);
    row.info.group = group_;
    row.info.heading = heading_;
    row.info.kind = kind;
    row.info.value = std::move(value);
    row.info.help = std::move(help);
    row.set = std::move(set);
    rows_.push_back(std::move(row));
    return rows_.back();
  }

  std::vector<Row<Target>> rows_;

 private:
  OptionGroup group_;
  std::string heading_;
};

// Gives the target every value, in the order of the rows.
template <class Target>
void apply(const Rows<Target>& rows, Target& target, const OptionValues& values,
           OptionSpelling spelling) {
  const OptionGroup group = rows.all().front().info.group;
  const GivenOptions given(option_table(group), to_string(group), values, spelling);
  for (const Row<Target>& row : rows.all()) {
    if (const Given* one = given.find(row.info.name)) row.set(target, *one);
  }
}

}  // namespace ondine::options
