#include "ondine/row_answer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <ondine/best_paths.h>
#include <ondine/losses.h>
#include <ondine/printable.h>

#include "ondine/common.h"

namespace ondine::cli {
namespace {

bool has_labels(const std::string& loss, std::initializer_list<LossLabels> labels) {
  const LossFacts* facts = find_loss(loss);
  return facts != nullptr && std::find(labels.begin(), labels.end(), facts->labels) != labels.end();
}

bool is_class_loss(const std::string& loss) {
  return has_labels(loss, {LossLabels::classes, LossLabels::probabilities});
}

bool is_binary_loss(const std::string& loss) {
  return has_labels(loss, {LossLabels::binary, LossLabels::signs});
}

std::vector<double> softmax(std::vector<double> scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - largest);
  for (double& score : scores) score /= sum;
  return scores;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

std::vector<double> row_of(const Tensor& output, std::uint64_t row) {
  const std::int64_t count = output.shape().size(1, output.shape().rank());
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i) {
    result.push_back(element_of(output, static_cast<std::int64_t>(row) * count + i));
  }
  return result;
}

bool sum_to_one(const std::vector<double>& values) {
  double sum = 0;
  for (const double one : values) {
    if (!(one >= 0 && one <= 1)) return false;
    sum += one;
  }
  return std::abs(sum - 1) < 1e-3;
}

}  // namespace

RowReader::RowReader(Options options) : options_(std::move(options)) {}

std::string RowReader::class_name(std::size_t position) const {
  return position < options_.classes.size() ? options_.classes[position] : std::to_string(position);
}

std::vector<double> RowReader::probabilities(std::vector<double> scores) const {
  switch (options_.prediction.meaning) {
    case OutputMeaning::logits:
    case OutputMeaning::sequence:
    case OutputMeaning::next_token:
      return softmax(std::move(scores));
    case OutputMeaning::log_probabilities:
      for (double& one : scores) one = std::exp(one);
      return scores;
    default:
      return scores;
  }
}

// Nothing was recorded of the output.
RowReader::Kind RowReader::kind_of_unknown(const Tensor& output, std::uint64_t row) {
  if (output.shape().rank() != 2 || output.shape()[1] < 2) return Kind::values;
  const bool has_names = options_.classes.size() > 1 &&
                         static_cast<std::int64_t>(options_.classes.size()) <= output.shape()[1];
  if (has_names || options_.top || sum_to_one(row_of(output, row))) {
    note_ = "the model does not say what output '" + options_.prediction.output +
            "' holds; its values are taken for scores of classes";
    return Kind::classes;
  }
  return Kind::values;
}

RowReader::Kind RowReader::kind_of(const Tensor& output, std::uint64_t row) {
  const DataRecord::Prediction& prediction = options_.prediction;
  const bool is_class = is_class_loss(prediction.loss);
  const std::size_t rank = output.shape().rank();
  if (is_integer(output.dtype())) {
    const bool has_classes = is_class || (prediction.loss.empty() && !options_.classes.empty());
    return has_classes ? Kind::class_ids : Kind::values;
  }
  switch (prediction.meaning) {
    case OutputMeaning::unknown:
      return kind_of_unknown(output, row);
    case OutputMeaning::numbers:
      return Kind::numbers;
    case OutputMeaning::sequence:
      return rank == 3 ? Kind::sequence : Kind::values;
    case OutputMeaning::next_token:
      return rank == 3 ? Kind::next_token : Kind::values;
    case OutputMeaning::logits:
    case OutputMeaning::probabilities:
    case OutputMeaning::log_probabilities:
    case OutputMeaning::margins:
      if (is_binary_loss(prediction.loss)) return rank <= 2 ? Kind::labels : Kind::values;
      if (!is_class) return kind_of_unknown(output, row);
      return rank == 2 ? Kind::classes : Kind::shares;
    default:
      return Kind::values;
  }
}

RowAnswer RowReader::best(const std::vector<double>& scores, const char* noun,
                          const char* measure) const {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  order.resize(std::min<std::size_t>(order.size(), options_.top.value_or(1)));
  RowAnswer answer;
  answer.are_pairs = true;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::string suffix = i == 0 ? "" : std::to_string(i + 1);
    answer.names.push_back(noun + suffix);
    answer.names.push_back(measure + suffix);
    answer.fields.push_back(class_name(order[i]));
    answer.fields.push_back(number(scores[order[i]]));
  }
  return answer;
}

RowAnswer RowReader::values(const Tensor& output, std::uint64_t row,
                            const std::string& name) const {
  const std::int64_t count = output.shape().size(1, output.shape().rank());
  RowAnswer answer;
  for (std::int64_t i = 0; i < count; ++i) {
    answer.names.push_back(count == 1 ? name : name + std::to_string(i));
    answer.fields.push_back(element_text(output, static_cast<std::int64_t>(row) * count + i));
  }
  return answer;
}

// Labels that are there or not, each on its own.
RowAnswer RowReader::one_label(const Tensor& output, std::uint64_t row) const {
  std::vector<double> scores = row_of(output, row);
  if (options_.prediction.meaning == OutputMeaning::logits) {
    for (double& one : scores) one = sigmoid(one);
  }
  const bool are_margins = options_.prediction.meaning == OutputMeaning::margins;
  const char* measure = are_margins ? "score" : "probability";
  if (scores.size() > 1) return best(scores, "label", measure);
  RowAnswer answer;
  if (options_.classes.size() == 2 && !are_margins) {
    const bool is_second = scores[0] > 0.5;
    answer.are_pairs = true;
    answer.names = {"class", "score"};
    answer.fields = {options_.classes[is_second ? 1 : 0],
                     number(is_second ? scores[0] : 1 - scores[0])};
    return answer;
  }
  answer.names = {measure};
  answer.fields = {number(scores[0])};
  return answer;
}

RowAnswer RowReader::class_ids(const Tensor& output, std::uint64_t row) const {
  RowAnswer answer = values(output, row, "class");
  for (std::string& field : answer.fields) {
    const bool is_name = field.size() < 10 && field[0] != '-';
    if (is_name) field = class_name(static_cast<std::size_t>(std::stoul(field)));
  }
  return answer;
}

// The scores of each position, one for each class.
std::vector<std::vector<double>> RowReader::positions(const Tensor& output,
                                                      std::uint64_t row) const {
  const Shape& shape = output.shape();
  const auto axis = static_cast<std::size_t>(
      options_.prediction.class_axis.value_or(options_.prediction.meaning == OutputMeaning::sequence
                                                  ? static_cast<std::int64_t>(shape.rank()) - 1
                                                  : 1));
  if (axis < 1 || axis >= shape.rank()) {
    throw Error(ErrorCode::mismatch, "the classes of output '" + options_.prediction.output +
                                         "' are axis " + std::to_string(axis) + ", its shape is " +
                                         shape.to_string());
  }
  const auto outer = static_cast<std::size_t>(shape.size(1, axis));
  const auto classes = static_cast<std::size_t>(shape[axis]);
  const auto inner = static_cast<std::size_t>(shape.size(axis + 1, shape.rank()));
  const std::vector<double> all = row_of(output, row);
  std::vector<std::vector<double>> result;
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t i = 0; i < inner; ++i) {
      std::vector<double>& scores = result.emplace_back();
      for (std::size_t c = 0; c < classes; ++c) {
        scores.push_back(all[(o * classes + c) * inner + i]);
      }
    }
  }
  return result;
}

// Share of the positions that each class has, for outputs with a class at each position.
RowAnswer RowReader::shares(const Tensor& output, std::uint64_t row) const {
  const auto all = positions(output, row);
  std::vector<double> counts(all.empty() ? 0 : all[0].size());
  for (const std::vector<double>& scores : all) {
    const auto largest = std::max_element(scores.begin(), scores.end());
    counts[static_cast<std::size_t>(largest - scores.begin())] +=
        1 / static_cast<double>(all.size());
  }
  return best(counts, "class", "share");
}

RowAnswer RowReader::sequence(const Tensor& output, std::uint64_t row) const {
  const auto steps = positions(output, row);
  Tensor scores(DType::float64, {1, static_cast<std::int64_t>(steps.size()),
                                 steps.empty() ? 1 : static_cast<std::int64_t>(steps[0].size())});
  auto to = scores.mutable_values<double>().begin();
  for (const std::vector<double>& one : steps) to = std::copy(one.begin(), one.end(), to);
  const std::vector<std::int64_t> labels =
      best_paths(scores, options_.prediction.ctc_blank).front();
  std::string text;
  if (options_.classes.empty() && options_.texts) {
    text = options_.texts->decode(labels);
  } else {
    const bool are_letters = !options_.classes.empty() &&
                             std::all_of(options_.classes.begin(), options_.classes.end(),
                                         [](const std::string& name) { return name.size() <= 4; });
    for (const std::int64_t label : labels) {
      if (!text.empty() && !are_letters) text += ' ';
      text += class_name(static_cast<std::size_t>(label));
    }
  }
  return {{"text"}, {text}, false};
}

RowAnswer RowReader::next_token(const Tensor& output, std::uint64_t row,
                                std::int64_t length) const {
  const auto all = positions(output, row);
  const std::size_t last = length > 0 && static_cast<std::size_t>(length) <= all.size()
                               ? static_cast<std::size_t>(length) - 1
                               : all.size() - 1;
  RowAnswer answer = best(probabilities(all[last]), "next", "probability");
  if (!options_.texts) return answer;
  for (std::size_t i = 0; i < answer.fields.size(); i += 2) {
    const std::int64_t id = std::stol(answer.fields[i]);
    if (id < options_.texts->size()) answer.fields[i] = options_.texts->decode({&id, 1});
  }
  return answer;
}

RowAnswer RowReader::read(const Tensor& output, std::uint64_t row, std::int64_t length) {
  const std::string& name = options_.prediction.output;
  switch (kind_of(output, row)) {
    case Kind::classes: {
      std::vector<double> scores = row_of(output, row);
      if (scores.size() < 2) return values(output, row, "value");
      return best(probabilities(std::move(scores)), "class", "score");
    }
    case Kind::labels:
      return one_label(output, row);
    case Kind::class_ids:
      return class_ids(output, row);
    case Kind::shares:
      return shares(output, row);
    case Kind::sequence:
      return sequence(output, row);
    case Kind::next_token:
      return next_token(output, row, length);
    case Kind::numbers:
      return values(output, row, options_.target.empty() ? name : options_.target);
    case Kind::values:
      break;
  }
  const bool is_single = output.shape().size(1, output.shape().rank()) == 1;
  return values(output, row, is_single && options_.prediction.loss.empty() ? "value" : name);
}

}  // namespace ondine::cli
