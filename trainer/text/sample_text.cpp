#include <algorithm>
#include <cmath>

#include <ondine/data_record.h>
#include <ondine/text.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "core/random.h"
#include "trainer/fit/metric_values.h"
#include "trainer/fit/prediction.h"
#include "trainer/metrics/softmax.h"

namespace ondine {
namespace {

// Of models that say no length.
constexpr std::int64_t default_context = 1024;
// No node of a model has this stream of random numbers.
constexpr std::uint32_t sample_stream = 0xfffffffeU;

PortInfo input_of(const Model& model) {
  std::vector<PortInfo> inputs = model.inputs();
  std::erase_if(inputs, [](const PortInfo& input) { return input.has_default; });
  const bool fits = inputs.size() == 1 && inputs[0].dims && inputs[0].dims->size() == 2 &&
                    (inputs[0].dtype == DType::int64 || inputs[0].dtype == DType::int32);
  if (fits && !model.outputs().empty()) return inputs[0];
  fail(ErrorCode::mismatch,
       "text is sampled from models with one input, ids [N, T] of type int64 or int32, and scores "
       "of the next token as the first output");
}

class Sampler {
 public:
  Sampler(const Model& model, const SampleOptions& options, const TextOptions& text)
      : model_(&model), options_(&options), encoding_(text.encoding), input_(input_of(model)) {
    const DataRecord::Prediction prediction = fit::find_prediction(model, data_record(model));
    output_ = prediction.output;
    const std::int64_t asked = (*input_.dims)[1];
    context_ = asked > 0 ? asked : text.length;
    if (context_ < 1) context_ = default_context;
    recorded_axis_ = prediction.class_axis;
  }

  std::int64_t next(std::span<const std::int64_t> tokens, std::uint64_t step) {
    const auto used = std::min(tokens.size(), static_cast<std::size_t>(context_));
    const Results results = model_->infer({{input_.name, window(tokens.last(used))}}, {output_});
    return choose(scores(results[output_].tensor(), used - 1), step);
  }

 private:
  // Behind the tokens there is padding, where the model asks for a length.
  Tensor window(std::span<const std::int64_t> tokens) const {
    const std::int64_t rows = std::max<std::int64_t>(1, (*input_.dims)[0]);
    const std::int64_t asked = (*input_.dims)[1];
    const auto length = asked > 0 ? asked : static_cast<std::int64_t>(tokens.size());
    std::vector<std::int64_t> ids(static_cast<std::size_t>(length), encoding_.padding_id());
    std::copy(tokens.begin(), tokens.end(), ids.begin());
    Tensor result(input_.dtype, Shape{rows, length});
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t first = row * length;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto at = static_cast<std::size_t>(first) + i;
        if (input_.dtype == DType::int64) {
          result.mutable_values<std::int64_t>()[at] = ids[i];
        } else {
          result.mutable_values<std::int32_t>()[at] = static_cast<std::int32_t>(ids[i]);
        }
      }
    }
    return result;
  }

  std::size_t class_axis(const Shape& shape) const {
    if (recorded_axis_ == 1 || recorded_axis_ == 2) return *recorded_axis_ == 1 ? 1 : 2;
    const std::int64_t classes = encoding_.size();
    if ((shape[1] == classes) != (shape[2] == classes)) return shape[1] == classes ? 1 : 2;
    fail(ErrorCode::mismatch, "output ", quoted(output_), " ", shape, " has ",
         shape[1] == classes ? "two axes" : "no axis", " of ", classes,
         " ids; the model does not say which axis has the scores");
  }

  // Of the token after `position`.
  std::vector<double> scores(const Tensor& output, std::size_t position) const {
    const Shape& shape = output.shape();
    if (shape.rank() != 3) {
      fail(ErrorCode::mismatch, "output ", quoted(output_), " ", shape,
           " has no scores of the next token at each position");
    }
    const std::size_t axis = class_axis(shape);
    const auto positions = static_cast<std::size_t>(shape[3 - axis]);
    if (position >= positions) {
      fail(ErrorCode::mismatch, "output ", quoted(output_), " ", shape, " has no position ",
           position);
    }
    const auto classes = static_cast<std::size_t>(shape[axis]);
    const std::vector<double> all = fit::metric_values(output);
    std::vector<double> result(classes);
    for (std::size_t c = 0; c < classes; ++c) {
      result[c] = all[axis == 1 ? c * positions + position : position * classes + c];
    }
    if (metrics::are_probabilities(result, classes)) {
      for (double& score : result) score = std::log(score);
    }
    // What is no id cannot be drawn.
    result.resize(std::min(classes, static_cast<std::size_t>(encoding_.size())));
    return result;
  }

  std::int64_t choose(const std::vector<double>& scores, std::uint64_t step) const {
    const auto best = std::max_element(scores.begin(), scores.end());
    if (options_->temperature == 0) return best - scores.begin();
    std::vector<double> weights;
    double sum = 0;
    for (const double score : scores) {
      weights.push_back(std::exp((score - *best) / options_->temperature));
      sum += weights.back();
    }
    if (!std::isfinite(sum)) {
      fail(ErrorCode::mismatch, "scores of output ", quoted(output_), " are not finite");
    }
    double left = sum * uniform_at({options_->seed, step, sample_stream}, 0);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      left -= weights[i];
      if (left < 0) return static_cast<std::int64_t>(i);
    }
    return best - scores.begin();
  }

  const Model* model_;
  const SampleOptions* options_;
  TextEncoding encoding_;
  PortInfo input_;
  std::string output_;
  std::int64_t context_ = 0;
  std::optional<std::int64_t> recorded_axis_;
};

}  // namespace

std::string sample_text(const Model& model, std::string_view prompt, const SampleOptions& options) {
  return guard_memory("sample a text", [&] {
    if (!(options.temperature >= 0) || !std::isfinite(options.temperature)) {
      fail(ErrorCode::mismatch, "the temperature must be at least 0, it is ", options.temperature);
    }
    TextOptions text = text_options(model);
    if (options.encoding) text.encoding = *options.encoding;
    const TextEncoding& encoding = text.encoding;
    std::vector<std::int64_t> tokens = encoding.encode_beginning(prompt);
    if (tokens.empty()) fail(ErrorCode::mismatch, "the prompt has no text");
    // A text of pieces depends on those before it: on a space, or bytes of one character.
    const std::size_t known = encoding.decode(tokens).size();
    Sampler sampler(model, options, text);
    for (std::uint64_t i = 0; i < options.tokens; ++i) tokens.push_back(sampler.next(tokens, i));
    const std::string all = encoding.decode(tokens);
    return all.substr(std::min(known, all.size()));
  });
}

}  // namespace ondine
