#include "trainer/layers/einsum_size.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "trainer/layers/saturating.h"

namespace ondine::trainer {
namespace {

constexpr std::string_view ellipsis = "...";

bool is_index(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// The sizes of indices by letter; axes of the ellipsis by their distance from its end, as negative
// numbers. An axis of size 1 is broadcast.
class Sizes {
 public:
  void add(std::string_view term, const Shape& shape) {
    const auto letters = static_cast<std::size_t>(std::ranges::count_if(term, is_index));
    std::size_t axis = 0;
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (is_index(term[i])) {
        if (axis < shape.rank()) take(term[i], shape[axis++]);
      } else if (term.substr(i).starts_with(ellipsis)) {
        i += ellipsis.size() - 1;
        for (std::size_t left = shape.rank() - std::min(letters, shape.rank()); left > 0; --left) {
          if (axis < shape.rank()) take(-static_cast<int>(left), shape[axis++]);
        }
      }
    }
  }

  std::uint64_t product() const {
    std::uint64_t result = 1;
    for (const auto& [index, size] : sizes_) result = times(result, size);
    return result;
  }

 private:
  void take(int index, std::int64_t size) {
    auto [known, added] = sizes_.emplace(index, static_cast<std::uint64_t>(size));
    if (!added && known->second == 1) known->second = static_cast<std::uint64_t>(size);
  }

  std::map<int, std::uint64_t> sizes_;
};

}  // namespace

std::uint64_t einsum_size(std::string_view equation, std::span<const Shape> operands) {
  std::string_view terms = equation.substr(0, equation.find("->"));
  Sizes sizes;
  for (const Shape& shape : operands) {
    const std::size_t end = std::min(terms.find(','), terms.size());
    sizes.add(terms.substr(0, end), shape);
    terms.remove_prefix(std::min(end + 1, terms.size()));
  }
  return sizes.product();
}

}  // namespace ondine::trainer
