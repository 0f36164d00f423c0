// A loss of given numbers, its derivative by them and a numeric one.
#pragma once

#include <vector>

#include <ondine/model.h>
#include <ondine/prepare.h>

namespace ondine::test {

struct LossRun {
  double loss = 0;
  double accuracy = -1;  // -1 without one
  std::vector<double> gradient;
};

// Runs a model that gives the numbers as output "y", prepared with options.loss in double.
LossRun run_loss(PrepareOptions options, const Tensor& y, const NamedValues& labels);
// Runs that model and checks the derivative of every number against a central difference of the
// loss.
LossRun check_loss(const PrepareOptions& options, const Tensor& y, const NamedValues& labels);

// Model y = x + w, in bytes; w = 0 has the shape of y.
std::vector<std::byte> given_numbers(const Shape& shape, std::int64_t opset = 17);

// Log of the softmax of one row of scores.
std::vector<double> log_softmax_of(const std::vector<double>& scores);
// Elements of a [N, C, P] tensor along axis 1.
std::vector<double> along_classes(const Tensor& y, std::size_t n, std::size_t position);

}  // namespace ondine::test
