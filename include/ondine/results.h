// What a call is fed with and what it returns, by name.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <ondine/export.h>
#include <ondine/value.h>

namespace ondine {

// A view of named values for one call: model.infer({{"image", x}}), or any contiguous range of
// NamedValue. What it was made from must live until the call returns, which temporaries of the same
// expression do; do not keep a Feeds in a variable.
class Feeds {
 public:
  Feeds() = default;
  Feeds(std::initializer_list<NamedValue> values)  // NOLINT: implicit, as all of them
      : Feeds(std::span(std::data(values), values.size())) {}
  template <class Range>
  requires(std::convertible_to<Range, std::span<const NamedValue>> &&
           !std::same_as<std::remove_cvref_t<Range>, Feeds>) Feeds(Range&& values)
      : values_(values) {}  // NOLINT

  std::span<const NamedValue> values() const noexcept { return values_; }

 private:
  std::span<const NamedValue> values_;
};

// A view of the names of wanted results, made and used as Feeds is: model.infer(feeds, {"logits"}).
class Fetches {
 public:
  Fetches() = default;
  Fetches(std::initializer_list<std::string> names)  // NOLINT
      : Fetches(std::span(std::data(names), names.size())) {}
  template <class Range>
  requires(std::convertible_to<Range, std::span<const std::string>> &&
           !std::same_as<std::remove_cvref_t<Range>, Fetches>) Fetches(Range&& names)
      : names_(names) {}  // NOLINT

  std::span<const std::string> names() const noexcept { return names_; }

 private:
  std::span<const std::string> names_;
};

// What a call returned: named values in the order in which they were asked for. Owns them; a
// constant Results may be read by several threads at once.
class ONDINE_API Results {
 public:
  Results() = default;
  explicit Results(NamedValues values) : values_(std::move(values)) {}

  // By name. Error(mismatch) that lists the names there are.
  const Value& operator[](std::string_view name) const&;
  Value& operator[](std::string_view name) &;
  // Of a temporary the value itself, so that a reference to it does not dangle.
  Value operator[](std::string_view name) &&;
  // By position, which must be below size().
  template <std::integral Index>
  const NamedValue& operator[](Index index) const& {
    return values_[static_cast<std::size_t>(index)];
  }
  template <std::integral Index>
  NamedValue& operator[](Index index) & {
    return values_[static_cast<std::size_t>(index)];
  }
  template <std::integral Index>
  NamedValue operator[](Index index) && {
    return std::move(values_[static_cast<std::size_t>(index)]);
  }
  // The only element of a tensor of numbers or booleans. Error(mismatch) for anything else.
  double scalar(std::string_view name) const;

  bool contains(std::string_view name) const noexcept;
  std::size_t size() const noexcept { return values_.size(); }
  bool empty() const noexcept { return values_.empty(); }
  const NamedValue* begin() const noexcept { return values_.data(); }
  const NamedValue* end() const noexcept { return values_.data() + values_.size(); }
  NamedValue* begin() noexcept { return values_.data(); }
  NamedValue* end() noexcept { return values_.data() + values_.size(); }

  const NamedValues& values() const& noexcept { return values_; }
  NamedValues values() && noexcept { return std::move(values_); }
  operator NamedValues() const& { return values_; }                  // NOLINT
  operator NamedValues() && noexcept { return std::move(values_); }  // NOLINT

 private:
  std::size_t find(std::string_view name) const;

  NamedValues values_;
};

}  // namespace ondine
