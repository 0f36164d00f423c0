#include "trainer/text/packing_check.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/message.h"
#include "core/to_doubles.h"
#include "graph/training/prepare/packing/packing.h"
#include "trainer/model/model_impl.h"
#include "trainer/prepare.h"
#include "trainer/text/cache_inputs.h"

namespace ondine::text {
namespace {

using Row = std::vector<std::int64_t>;

constexpr std::int64_t usual_tokens = 16;

graph::ModelDef packed_model(graph::PackedNetwork packed, const std::string& scores,
                             const graph::ValueTypes& types) {
  graph::ModelDef model = std::move(packed.model);
  graph::GraphDef& main = model.graph;
  main.nodes.insert(main.nodes.begin(), std::make_move_iterator(packed.nodes.begin()),
                    std::make_move_iterator(packed.nodes.end()));
  std::move(packed.constants.begin(), packed.constants.end(),
            std::back_inserter(main.initializers));
  main.inputs.push_back(packed.segments);
  graph::ValueDef output;
  output.name = scores;
  if (const auto found = types.find(scores); found != types.end()) output.type = found->second;
  main.outputs = {std::move(output)};
  return model;
}

class Check {
 public:
  Check(const graph::ModelDef& prepared, const std::string& scores, const LoadOptions& load) {
    graph::ModelDef network = prepared;
    network.training.clear();
    network.metadata.clear();
    const graph::ValueTypes types = trainer::types_of(network, load);
    graph::Names names(network);
    graph::PackedNetwork packed = graph::pack_network(network, types, names);
    tokens_ = packed.tokens;
    ids_ = packed.ids;
    model_.emplace(ModelAccess::make(packed_model(std::move(packed), scores, types), load));
    choose_length();
  }

  void run() {
    const std::int64_t first = length_ / 2 - 1;
    const std::int64_t second = (length_ - first) / 2;
    const std::vector<std::int64_t> lengths{first, second, length_ - first - second};
    Row all;
    Row segments;
    std::vector<double> alone;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      Row text;
      for (std::int64_t k = 0; k < lengths[i]; ++k) text.push_back(id(std::ssize(all) + k));
      const std::vector<double> scores = scores_of(text, Row(text.size(), 0));
      alone.insert(alone.end(), scores.begin(), scores.end());
      all.insert(all.end(), text.begin(), text.end());
      segments.resize(all.size(), static_cast<std::int64_t>(i));
    }
    compare(scores_of(all, segments), scores_of(all, Row(all.size(), 0)), alone);
  }

 private:
  void choose_length() {
    for (const PortInfo& input : model_->inputs()) {
      if (input.name != tokens_ || !input.dims || input.dims->size() != 2) continue;
      const std::int64_t declared = input.dims->back();
      length_ = declared < 0 ? usual_tokens : declared;
      rows_ = std::max<std::int64_t>(1, input.dims->front());
      fixed_ = declared >= 0;
    }
    if (length_ < 6) {
      fail(ErrorCode::unsupported, "packing needs an input of ids [N, T] with 6 tokens or more, ",
           quoted(tokens_), " has ", length_);
    }
  }

  // Made up, without the first few, which are often special.
  std::int64_t id(std::int64_t token) const {
    const std::int64_t first = ids_ > 32 ? 8 : 0;
    return first + (7 * token + 3) % std::max<std::int64_t>(1, ids_ - first);
  }

  // Scores of each token, one after the other.
  std::vector<double> scores_of(Row ids, Row segments) const {
    const auto tokens = std::ssize(ids);
    const std::int64_t length = fixed_ ? length_ : tokens;
    Row mask(ids.size(), 1);
    ids.resize(static_cast<std::size_t>(length), id(0));
    mask.resize(ids.size(), 0);
    segments.resize(ids.size(), segments.back());
    NamedValues feeds;
    for (const PortInfo& input : model_->inputs()) {
      if (!input.has_default) feeds.emplace_back(input.name, feed(input, ids, mask, segments));
    }
    return tokens_of(model_->infer(feeds)[0].second.tensor(), tokens, length);
  }

  Tensor feed(const PortInfo& input, const Row& ids, const Row& mask, const Row& segments) const {
    if (input.name == tokens_) return repeated(input, ids);
    if (input.name == "attention_mask") return repeated(input, mask);
    if (input.name == graph::segments_name) return repeated(input, segments);
    if (input.name == "token_type_ids") return repeated(input, Row(ids.size(), 0));
    if (input.name == "position_ids") {
      Row positions(ids.size());
      for (std::size_t i = 0; i < ids.size(); ++i) positions[i] = static_cast<std::int64_t>(i);
      return repeated(input, positions);
    }
    if (const auto axis = token_axis_of_cache(input)) {
      Shape shape;
      for (std::size_t i = 0; i < input.dims->size(); ++i) {
        const std::int64_t dim = i == 0 ? rows_ : (*input.dims)[i];
        shape.push_back(i == *axis ? 0 : dim);
      }
      return Tensor(input.dtype, shape);
    }
    fail(ErrorCode::unsupported, "packing: input ", quoted(input.name), " of type ", input.type,
         " is neither ids, attention_mask, position_ids, token_type_ids nor a cache");
  }

  // The row as often as the model's batch has rows, in the input's type.
  Tensor repeated(const PortInfo& input, const Row& row) const {
    const Shape shape{rows_, std::ssize(row)};
    Tensor result(input.dtype, shape);
    const auto fill = [&]<class T>(std::span<T> to) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<T>(row[i % row.size()]);
    };
    switch (input.dtype) {
      case DType::int64:
        fill(result.mutable_values<std::int64_t>());
        return result;
      case DType::int32:
        fill(result.mutable_values<std::int32_t>());
        return result;
      case DType::boolean:
        fill(result.mutable_values<bool>());
        return result;
      case DType::float32:
        fill(result.mutable_values<float>());
        return result;
      default:
        fail(ErrorCode::unsupported, "packing: input ", quoted(input.name), " of type ",
             input.type);
    }
  }

  // Scores of the first `tokens` tokens of the first row, [1, T, C] or [1, C, T], as [tokens, C].
  std::vector<double> tokens_of(const Tensor& scores, std::int64_t tokens,
                                std::int64_t length) const {
    const Shape& shape = scores.shape();
    const bool fits = shape.rank() == 3 && (shape[1] == length || shape[2] == length);
    if (!fits) {
      fail(ErrorCode::unsupported, "packing needs scores of each token, the trained output is ",
           shape, " for rows of ", length, " tokens");
    }
    const bool is_last = shape[1] != length;
    const std::int64_t classes = is_last ? shape[1] : shape[2];
    const std::vector<double> all = to_doubles(scores).value();
    std::vector<double> result;
    for (std::int64_t token = 0; token < tokens; ++token) {
      for (std::int64_t k = 0; k < classes; ++k) {
        const std::int64_t at = is_last ? k * length + token : token * classes + k;
        result.push_back(all[static_cast<std::size_t>(at)]);
      }
    }
    return result;
  }

  // `mixed`: scores of the texts where they read each other, which says how much that matters.
  void compare(const std::vector<double>& packed, const std::vector<double>& mixed,
               const std::vector<double>& alone) const {
    double largest = 0;
    double far = 0;
    double far_mixed = 0;
    bool is_finite = true;
    for (std::size_t i = 0; i < alone.size(); ++i) {
      is_finite = is_finite && std::isfinite(packed[i]) && std::isfinite(alone[i]);
      largest = std::max(largest, std::abs(alone[i]));
      far = std::max(far, std::abs(packed[i] - alone[i]));
      far_mixed = std::max(far_mixed, std::abs(mixed[i] - alone[i]));
    }
    const DType dtype = model_->outputs()[0].dtype;
    const bool is_low = dtype == DType::float16 || dtype == DType::bfloat16;
    const double rounding = is_low ? 1e-2 : 2e-6;
    if (is_finite && far <= std::max(0.01 * far_mixed, rounding * largest)) return;
    fail(ErrorCode::unsupported, "rows of several texts give other scores than a row for each, by ",
         far, " of ", largest,
         ": the network mixes the tokens of a row, or counts their positions, in a way that is not "
         "recognized, so that it cannot be packed");
  }

  std::optional<Model> model_;
  std::string tokens_;
  std::int64_t ids_ = 0;
  std::int64_t length_ = 0;
  std::int64_t rows_ = 1;
  bool fixed_ = false;
};

}  // namespace

void check_packing(const graph::ModelDef& prepared, const std::string& scores,
                   const LoadOptions& load) {
  LoadOptions exact = load;
  exact.precision = Precision::float32;
  with_context([&] { Check(prepared, scores, exact).run(); },
               [] { return std::string("packing (--packing)"); });
}

}  // namespace ondine::text
