#include "ondine/verify/statistical.h"

#include <cmath>

#include "ondine/common.h"
#include "ondine/verify/compare.h"

namespace ondine::cli {
namespace {

bool only_zero_and_one(const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const double value = element_of(tensor, i);
    if (value != 0 && value != 1) return false;
  }
  return true;
}

double share_of_zeros(const Tensor& tensor) {
  std::int64_t zeros = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i) zeros += element_of(tensor, i) == 0 ? 1 : 0;
  return tensor.size() == 0 ? 0 : static_cast<double>(zeros) / static_cast<double>(tensor.size());
}

// want / x where an element was kept.
double scale_of(const Tensor& x, const Tensor& want) {
  for (std::int64_t i = 0; i < want.size(); ++i) {
    if (element_of(want, i) != 0) return element_of(want, i) / element_of(x, i);
  }
  return 0;
}

std::optional<std::string> dropout_difference(const Tensor& x, const Tensor& got,
                                              const Tensor& want) {
  const double scale = scale_of(x, want);
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double value = element_of(got, i);
    const double kept = element_of(x, i) * scale;
    if (value != 0 && std::abs(value - kept) > 1e-3 * std::abs(kept) + 1e-7) {
      return "element " + std::to_string(i) + " is " + number(value) + ", neither 0 nor " +
             number(kept);
    }
  }
  // Five standard deviations of the difference of both shares.
  const double expected = share_of_zeros(want);
  const double spread =
      std::sqrt(2 * 0.25 / static_cast<double>(std::max<std::int64_t>(1, got.size())));
  if (std::abs(share_of_zeros(got) - expected) > 5 * spread) {
    return number(share_of_zeros(got)) + " of the elements are dropped, expected about " +
           number(expected);
  }
  return {};
}

}  // namespace

bool is_statistical(const std::string& case_name) {
  return case_name.find("bernoulli") != std::string::npos ||
         (case_name.find("training_dropout") != std::string::npos &&
          case_name.find("zero_ratio") == std::string::npos);
}

std::optional<std::string> statistical_difference(const NamedValues& feeds, const NamedValues& got,
                                                  const NamedValues& want) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (auto text = type_difference(got[i].second, want[i].second)) return text;
    const Tensor& tensor = got[i].second.tensor();
    const Tensor& expected = want[i].second.tensor();
    if (only_zero_and_one(expected)) {
      if (!only_zero_and_one(tensor)) return std::string("values other than 0 and 1");
    } else if (!feeds.empty() && feeds[0].second.tensor().shape() == expected.shape()) {
      if (auto text = dropout_difference(feeds[0].second.tensor(), tensor, expected)) return text;
    }
  }
  return {};
}

}  // namespace ondine::cli
