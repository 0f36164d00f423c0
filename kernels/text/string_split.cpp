// string_split.cpp — the pieces of each text between delimiters, at most maxsplit + 1 of them and
// filled up with empty texts; and their numbers. Without a delimiter: the words between white
// space.
#include <algorithm>
#include <limits>

#include "kernels/common/kernel_output.h"
#include "kernels/common/op.h"
#include "kernels/text/unicode.h"

namespace ondine::kernels::ops {
namespace {

using Pieces = std::vector<std::string_view>;

std::string_view without_leading_space(std::string_view text) {
  while (const std::size_t bytes = leading_space(text)) text.remove_prefix(bytes);
  return text;
}

void split_words(std::string_view text, std::int64_t splits, Pieces& pieces) {
  pieces.clear();
  for (text = without_leading_space(text); !text.empty(); text = without_leading_space(text)) {
    if (splits-- == 0) return pieces.push_back(text);
    std::size_t end = 0;
    while (end < text.size() && leading_space(text.substr(end)) == 0) {
      end += decode_utf8(text.substr(end)).bytes;
    }
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

void split_at(std::string_view text, std::string_view delimiter, std::int64_t splits,
              Pieces& pieces) {
  pieces.clear();
  for (std::size_t at = 0; splits-- > 0 && (at = text.find(delimiter)) != text.npos;) {
    pieces.push_back(text.substr(0, at));
    text.remove_prefix(at + delimiter.size());
  }
  pieces.push_back(text);
}

void infer(InferContext& context) {
  std::optional<Dims> pieces = context.input(0).dims;
  if (context.has_output(1)) context.set_output(1, DType::int64, pieces);
  if (pieces) pieces->emplace_back();
  context.set_output(0, DType::string, std::move(pieces));
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
    const auto split = [&](std::int64_t i, Pieces& pieces) {
      if (delimiter.empty()) {
        split_words(from[i], splits, pieces);
      } else {
        split_at(from[i], delimiter, splits, pieces);
      }
      return static_cast<std::int64_t>(pieces.size());
    };
    Pieces pieces;
    auto* count = counts.memory<std::int64_t>(call, x);
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t found = split(i, pieces);
      if (count != nullptr) count[i] = found;
      most = std::max(most, found);
    }
    Shape shape = x;
    shape.push_back(most);
    auto* to = texts.memory<std::string>(call, shape);
    if (to == nullptr) return;
    for (std::int64_t i = 0; i < n; ++i) {
      split(i, pieces);
      std::string* row = to + i * most;
      for (std::int64_t k = 0; k < most; ++k) {
        const auto at = static_cast<std::size_t>(k);
        row[k] = at < pieces.size() ? std::string(pieces[at]) : std::string();
      }
    }
  };
}

}  // namespace

extern const OpDef string_split{.name = "StringSplit", .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops
