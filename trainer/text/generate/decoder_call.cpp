#include "trainer/text/generate/decoder_call.h"

#include <algorithm>
#include <cmath>

#include <ondine/data_record.h>

#include "core/message.h"
#include "core/to_doubles.h"
#include "trainer/fit/score/prediction.h"
#include "trainer/metrics/softmax.h"
#include "trainer/model/model_impl.h"

namespace ondine::text {
namespace {

// Context of models that give no length.
constexpr std::int64_t default_context = 1024;

// [N, count] of the same `values` for each sample.
Tensor rows_of(const PortInfo& port, std::int64_t samples, std::span<const std::int64_t> values) {
  Tensor result(port.dtype, Shape{samples, static_cast<std::int64_t>(values.size())});
  for (std::size_t row = 0; row < static_cast<std::size_t>(samples); ++row) {
    const std::size_t first = row * values.size();
    if (port.dtype == DType::int64) {
      std::copy(values.begin(), values.end(),
                result.mutable_values<std::int64_t>().subspan(first).begin());
    } else {
      std::transform(values.begin(), values.end(),
                     result.mutable_values<std::int32_t>().subspan(first).begin(),
                     [](std::int64_t value) { return static_cast<std::int32_t>(value); });
    }
  }
  return result;
}

}  // namespace

DecoderCall::DecoderCall(const Model& model, TextEncoding encoding)
    : model_(&model), encoding_(std::move(encoding)), ports_(find_decoder_ports(model)) {
  fetches_.push_back(ports_.scores);
  const bool fresh = !ports_.caches.empty() &&
                     std::ranges::none_of(ports_.caches, &std::string::empty, &CachePorts::fresh);
  if (fresh) fresh_fetches_ = fetches_;
  for (const CachePorts& cache : ports_.caches) {
    fetches_.push_back(cache.present);
    if (fresh) fresh_fetches_.push_back(cache.fresh);
  }
  const std::int64_t asked = (*ports_.ids.dims)[1];
  std::int64_t context = asked > 0 ? asked : text_options(model).length;
  if (context < 1) context = default_context;
  const DataRecord record = data_record(model);
  lengths_.context = record.text.context;
  lengths_.generated = record.text.generated;
  const DataRecord::Context& most = lengths_.context;
  if (asked < 1 && most.is_limit && most.tokens > 0) context = std::min(context, most.tokens);
  context_ = static_cast<std::size_t>(context);
  known_axis_ = fit::find_prediction(model, record, ports_.scores).class_axis;
  if (known_axis_ != 1 && known_axis_ != 2) take_declared_axis();
}

std::int64_t DecoderCall::samples() const noexcept {
  return std::max<std::int64_t>(1, (*ports_.ids.dims)[0]);
}

Tensor DecoderCall::make_tensor(DType dtype, const Shape& shape) const {
  return {dtype, shape, ModelAccess::impl(*model_).runtime.budget};
}

// Behind the tokens there is padding, where the model asks for a length.
Tensor DecoderCall::ids(const Step& step, std::int64_t length) const {
  std::vector<std::int64_t> values(step.tokens.begin(), step.tokens.end());
  values.resize(static_cast<std::size_t>(length), encoding_.padding_id());
  return rows_of(ports_.ids, samples(), values);
}

Tensor DecoderCall::positions(const Step& step, std::int64_t length) const {
  std::vector<std::int64_t> values;
  const std::int64_t last = std::ssize(step.tokens) - 1;
  for (std::int64_t i = 0; i < length; ++i) values.push_back(step.past + std::min(i, last));
  return rows_of(*ports_.positions, samples(), values);
}

Tensor DecoderCall::mask(const Step& step, std::int64_t length) const {
  std::vector<std::int64_t> values(static_cast<std::size_t>(step.room + length), 0);
  const std::int64_t first = step.spare == Spare::behind ? 0 : step.room - step.past;
  std::fill_n(values.begin() + first, step.past, 1);
  std::fill_n(values.begin() + step.room, step.tokens.size(), 1);
  return rows_of(*ports_.mask, samples(), values);
}

Results DecoderCall::run(const Step& step, std::span<const Value> caches,
                         const std::vector<std::string>& fetches) const {
  const std::int64_t asked = (*ports_.ids.dims)[1];
  const std::int64_t length = asked > 0 ? asked : std::ssize(step.tokens);
  NamedValues feeds;
  feeds.emplace_back(ports_.ids.name, ids(step, length));
  if (ports_.positions) feeds.emplace_back(ports_.positions->name, positions(step, length));
  if (ports_.mask) feeds.emplace_back(ports_.mask->name, mask(step, length));
  for (std::size_t i = 0; i < caches.size(); ++i) {
    feeds.emplace_back(ports_.caches[i].past.name, caches[i]);
  }
  return model_->infer(feeds, fetches);
}

// Where the model declares how many scores there are and leaves the positions open.
void DecoderCall::take_declared_axis() {
  known_axis_.reset();
  for (const PortInfo& port : model_->outputs()) {
    if (port.name != ports_.scores || !port.dims || port.dims->size() != 3) continue;
    const std::vector<std::int64_t>& dims = *port.dims;
    const bool is_told = ports_.has_ids_only() ? (dims[1] < 0) != (dims[2] < 0) : dims[2] >= 0;
    if (is_told) known_axis_ = class_axis(dims, port.type);
  }
}

std::int64_t DecoderCall::class_axis(std::span<const std::int64_t> dims,
                                     std::string_view spelled) const {
  const std::int64_t classes = encoding_.size();
  if (!ports_.has_ids_only()) {
    // Exporters of decoders know [N, T, C] alone. Vocabularies may be rounded up, bytes are not.
    const bool is_of_bytes = encoding_ == TextEncoding();
    if (is_of_bytes ? dims[2] == classes : dims[2] >= classes) return 2;
    fail(ErrorCode::mismatch, "output ", quoted(ports_.scores), " ", spelled, " has scores of ",
         dims[2], " tokens, the encoding ", quoted(encoding_.name()), " has ", classes, " ids",
         is_of_bytes ? "; --tokenizer (GenerateOptions::encoding) names the right one" : "");
  }
  if ((dims[1] == classes) != (dims[2] == classes)) return dims[1] == classes ? 1 : 2;
  fail(ErrorCode::mismatch, "output ", quoted(ports_.scores), " ", spelled, " has ",
       dims[1] == classes ? "two axes" : "no axis", " of ", classes,
       " ids; the model does not say which axis has the scores");
}

std::vector<double> DecoderCall::scores(const Results& results, const Step& step) const {
  const Tensor& output = results[ports_.scores].tensor();
  const Shape& shape = output.shape();
  if (shape.rank() != 3 || !(is_float(output.dtype()) || is_integer(output.dtype()))) {
    fail(ErrorCode::mismatch, "output ", quoted(ports_.scores), ", ", output.dtype(), " ", shape,
         ", has no scores of the next token at each position");
  }
  const auto axis = static_cast<std::size_t>(
      known_axis_ ? *known_axis_ : class_axis(shape.span(), shape.to_string()));
  const auto positions = static_cast<std::size_t>(shape[3 - axis]);
  const std::size_t position = step.tokens.size() - 1;
  if (position >= positions) {
    fail(ErrorCode::mismatch, "output ", quoted(ports_.scores), " ", shape, " has no position ",
         position);
  }
  const auto classes = static_cast<std::size_t>(shape[axis]);
  std::vector<double> result(classes);
  const void* const elements = output.data();
  if (axis == 2 && output.dtype() == DType::float32) {
    std::copy_n(static_cast<const float*>(elements) + position * classes, classes, result.begin());
  } else {
    const ReadElement read = element_reader(output.dtype());
    for (std::size_t c = 0; c < classes; ++c) {
      result[c] = read(elements, axis == 1 ? c * positions + position : position * classes + c);
    }
  }
  if (metrics::are_probabilities(result, classes)) {
    for (double& score : result) score = std::log(score);
  }
  // Scores of numbers that are no ids are dropped, so that they cannot be drawn.
  result.resize(std::min(classes, static_cast<std::size_t>(encoding_.size())));
  return result;
}

}  // namespace ondine::text
