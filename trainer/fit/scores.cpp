#include "trainer/fit/scores.h"

#include "core/message.h"
#include "trainer/fit/elements.h"

namespace ondine::fit {

std::int64_t count_hits(const Tensor& output, const Tensor& labels) {
  const Shape& shape = output.shape();
  if (shape.rank() < 2 || output.size() != labels.size() * shape[1]) {
    fail(ErrorCode::mismatch, "classes ", shape, " do not fit labels ", labels.shape());
  }
  const auto inner = static_cast<std::size_t>(shape.size(2, shape.rank()));
  const auto classes = static_cast<std::size_t>(shape[1]);
  const std::vector<double> scores = to_doubles(output);
  const std::vector<double> wanted = to_doubles(labels);
  std::int64_t hits = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double* first = scores.data() + i / inner * classes * inner + i % inner;
    std::size_t best = 0;
    for (std::size_t c = 1; c < classes; ++c) {
      if (first[c * inner] > first[best * inner]) best = c;
    }
    if (static_cast<double>(best) == wanted[i]) ++hits;
  }
  return hits;
}

double squared_distance(const Tensor& output, const Tensor& labels) {
  if (output.size() != labels.size()) {
    fail(ErrorCode::mismatch, "output ", output.shape(), " does not fit labels ", labels.shape());
  }
  const std::vector<double> got = to_doubles(output);
  const std::vector<double> wanted = to_doubles(labels);
  double sum = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double difference = got[i] - wanted[i];
    sum += difference * difference;
  }
  return sum;
}

}  // namespace ondine::fit
