// Values that a call takes and returns, by name.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ondine/export.h>
#include <ondine/value.h>

namespace ondine {

namespace detail {

// The elements of a list that a call takes. Elements given in place, as a braced list or a
// temporary vector, are kept; a vector, array or span that has a name is viewed and must outlive
// the list.
template <class T>
class CallList {
 public:
  CallList() = default;
  CallList(std::initializer_list<T> elements) : kept_(elements) {}  // NOLINT: implicit, as all
  template <class Range>
  requires std::convertible_to<Range, std::span<const T>> CallList(Range&& range) {  // NOLINT
    if constexpr (std::is_lvalue_reference_v<Range> || std::ranges::borrowed_range<Range>) {
      viewed_ = range;
    } else if constexpr (std::convertible_to<Range, std::vector<T>>) {
      kept_ = std::vector<T>(std::forward<Range>(range));
    } else {
      kept_.assign(std::begin(range), std::end(range));
    }
  }

  std::span<const T> elements() const noexcept {
    return kept_.empty() ? viewed_ : std::span<const T>(kept_);
  }

 private:
  std::vector<T> kept_;
  std::span<const T> viewed_;
};

}  // namespace detail

// Values that a call is fed with: model.infer({{"image", x}}), or any contiguous range of
// NamedValue. Only a range that has a name is viewed instead of kept; it must outlive the Feeds.
class Feeds : private detail::CallList<NamedValue> {
 public:
  using CallList::CallList;
  std::span<const NamedValue> values() const noexcept { return elements(); }
};

// The names of wanted results, made and used as Feeds is: model.infer(feeds, {"logits"}).
class Fetches : private detail::CallList<std::string> {
 public:
  using CallList::CallList;
  std::span<const std::string> names() const noexcept { return elements(); }
};

// Values that a call returned, with their names, in the order in which they were asked for. Owns
// them; a constant Results may be read by several threads at once.
class ONDINE_API Results {
 public:
  Results() = default;
  explicit Results(NamedValues values) : values_(std::move(values)) {}

  // The value with this name. Error(not_found) that lists the names there are.
  const Value& operator[](std::string_view name) const&;
  Value& operator[](std::string_view name) &;
  // The value itself, moved out of a temporary, so that no reference to it dangles.
  Value operator[](std::string_view name) &&;
  // The value at this position, which must be below size().
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
