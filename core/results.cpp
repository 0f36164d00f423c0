#include <ondine/results.h>

#include <algorithm>

#include "core/message.h"
#include "core/to_doubles.h"

namespace ondine {
std::size_t Results::find(std::string_view name) const {
  const auto found = std::find_if(values_.begin(), values_.end(),
                                  [&](const NamedValue& one) { return one.first == name; });
  if (found != values_.end()) return static_cast<std::size_t>(found - values_.begin());
  std::string names;
  for (const NamedValue& one : values_) names += " " + quoted(one.first);
  fail(ErrorCode::not_found, "there is no result ", quoted(name), "; results are",
       names.empty() ? " none" : names);
}

const Value& Results::operator[](std::string_view name) const& {
  return values_[find(name)].second;
}
Value& Results::operator[](std::string_view name) & { return values_[find(name)].second; }
Value Results::operator[](std::string_view name) && {
  return std::move(values_[find(name)].second);
}

bool Results::contains(std::string_view name) const noexcept {
  return std::any_of(values_.begin(), values_.end(),
                     [&](const NamedValue& one) { return one.first == name; });
}

double Results::scalar(std::string_view name) const {
  const Value& value = (*this)[name];
  if (value.kind() != Value::Kind::tensor) {
    fail(ErrorCode::mismatch, "result ", quoted(name), " is a ", to_string(value.kind()),
         ", not one number");
  }
  const Tensor& tensor = value.tensor();
  if (tensor.size() == 1) {
    if (const auto numbers = to_doubles(tensor)) return numbers->front();
  }
  fail(ErrorCode::mismatch, "result ", quoted(name), " is a ", tensor.dtype(), tensor.shape(),
       ", not one number");
}

}  // namespace ondine
