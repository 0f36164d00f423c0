// string_split.cpp — the parts of each string between delimiters, at most maxsplit + 1, padded with
// empty strings; and their numbers. Without a delimiter: the words between white space.
#include <algorithm>
#include <limits>

#include "core/stop.h"
#include "core/text/utf8.h"
#include "kernels/common/kernel_output.h"
#include "kernels/common/op.h"
#include "kernels/text/unicode.h"

namespace ondine::kernels::ops {
namespace {

using Parts = std::vector<std::string_view>;

std::string_view without_leading_space(std::string_view text) {
  while (const std::size_t bytes = leading_space(text)) {
    checkpoint(8);
    text.remove_prefix(bytes);
  }
  return text;
}

void split_words(std::string_view text, std::int64_t splits, Parts& parts) {
  parts.clear();
  for (text = without_leading_space(text); !text.empty(); text = without_leading_space(text)) {
    checkpoint(32);
    if (splits-- == 0) return parts.push_back(text);
    std::size_t end = 0;
    while (end < text.size() && leading_space(text.substr(end)) == 0) {
      checkpoint(8);
      end += decode_utf8(text.substr(end)).bytes;
    }
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

// As find(), which may compare the whole delimiter everywhere, in pieces.
std::size_t find_checked(std::string_view text, std::string_view delimiter) {
  if (text.size() < delimiter.size()) return text.npos;
  const auto places = static_cast<std::int64_t>(text.size() - delimiter.size()) + 1;
  std::size_t found = text.npos;
  for_pieces(places, 1 + static_cast<std::int64_t>(delimiter.size()) / 16,
             [&](std::int64_t first, std::int64_t last) {
               if (found != text.npos) return;
               const auto from = static_cast<std::size_t>(first);
               const auto count = static_cast<std::size_t>(last - first) + delimiter.size() - 1;
               const std::size_t at = text.substr(from, count).find(delimiter);
               if (at != text.npos) found = from + at;
             });
  return found;
}

void split_at(std::string_view text, std::string_view delimiter, std::int64_t splits,
              Parts& parts) {
  parts.clear();
  for (std::size_t at = 0; splits-- > 0 && (at = find_checked(text, delimiter)) != text.npos;) {
    checkpoint(16);
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + delimiter.size());
  }
  parts.push_back(text);
}

void infer(InferContext& context) {
  std::optional<Dims> parts = context.input(0).dims;
  if (context.has_output(1)) context.set_output(1, DType::int64, parts);
  if (parts) parts->emplace_back();
  context.set_output(0, DType::string, std::move(parts));
}

Kernel bind(BindContext& context) {
  const Shape x = context.shape(0);
  const std::string delimiter = context.attr_string("delimiter", "");
  std::int64_t splits = context.attr_int("maxsplit", -1);
  if (splits < 0) splits = std::numeric_limits<std::int64_t>::max();
  const Output texts(context, 0);
  const Output counts(context, 1);
  return [=](KernelContext& call) {
    const auto* from = call.in<std::string>(0);
    const std::int64_t n = x.size();
    const auto split = [&](std::int64_t i, Parts& parts) {
      if (delimiter.empty()) {
        split_words(from[i], splits, parts);
      } else {
        split_at(from[i], delimiter, splits, parts);
      }
      return static_cast<std::int64_t>(parts.size());
    };
    Parts parts;
    auto* count = counts.memory<std::int64_t>(call, x);
    std::int64_t max_parts = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t found = split(i, parts);
      if (count != nullptr) count[i] = found;
      max_parts = std::max(max_parts, found);
    }
    Shape shape = x;
    shape.push_back(max_parts);
    auto* to = texts.memory<std::string>(call, shape);
    if (to == nullptr) return;
    for (std::int64_t i = 0; i < n; ++i) {
      split(i, parts);
      std::string* row = to + i * max_parts;
      for (std::int64_t k = 0; k < max_parts; ++k) {
        checkpoint(16);
        const auto at = static_cast<std::size_t>(k);
        row[k] = at < parts.size() ? std::string(parts[at]) : std::string();
      }
    }
  };
}

}  // namespace

extern const OpDef string_split{.name = "StringSplit", .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops
