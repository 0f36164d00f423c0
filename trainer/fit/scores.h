// Scores of outputs against labels, summed over batches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ondine/trainer.h>

namespace ondine::fit {

enum class ScoreKind : std::uint8_t {
  classes,     // "accuracy": output [N, C, ...], labels [N, ...]
  binary,      // "accuracy" of every element on its own: shapes of the same size
  regression,  // "mse" and "mae": shapes of the same size
};

class Scores {
 public:
  // threshold: of ScoreKind::binary; what exceeds it is predicted to be true.
  explicit Scores(ScoreKind kind, double threshold = 0.5) : kind_(kind), threshold_(threshold) {}

  std::vector<std::string> names() const;
  bool fit(const Shape& output, const Shape& labels) const;
  // Error(mismatch) for shapes that do not fit.
  void add(const Tensor& output, const Tensor& labels);
  void clear();
  // Writes the means over all labels into `to`.
  void mean(Metrics& to) const;
  std::int64_t count() const noexcept { return count_; }

 private:
  ScoreKind kind_;
  double threshold_;
  double sum_ = 0;     // hits or squared differences
  double others_ = 0;  // absolute differences
  std::int64_t count_ = 0;
};

}  // namespace ondine::fit
