#include "graph/training/prepare/packing/segments.h"

#include <iterator>
#include <utility>

#include "core/scalar.h"
#include "graph/training/prepare/losses/pieces.h"

namespace ondine::graph {
namespace {

// Scores that far below others have a weight of exactly 0, and sums with those of masks stay
// finite.
double far_below(DType dtype) { return dtype == DType::float16 ? -6e4 : -1e30; }

}  // namespace

Segments::Segments(Names& names, std::int64_t opset)
    : writer_(graph_, names, opset), segments_(names.fresh(segments_name)) {}

const std::string& Segments::keep(std::string& kept, std::string value) {
  values_.emplace(value, value);
  return kept = std::move(value);
}

const std::string& Segments::pairs() {
  if (!pairs_.empty()) return pairs_;
  return pairs_ = writer_.node("Equal",
                               {unsqueeze(writer_, segments_, 2, "segments.of_queries"),
                                unsqueeze(writer_, segments_, 1, "segments.of_keys")},
                               "segments.pairs");
}

const std::string& Segments::same() {
  if (!same_.empty()) return same_;
  return keep(same_, unsqueeze(writer_, pairs(), 1, "segments.same"));
}

const std::string& Segments::bias(DType dtype, std::size_t rank) {
  std::string& bias = biases_[{dtype, rank}];
  if (!bias.empty()) return bias;
  if (rank > 4) {
    const std::string lower = this->bias(dtype, rank - 1);
    return keep(bias, unsqueeze(writer_, lower, 1, "segments.bias"));
  }
  return keep(bias, writer_.node("Where",
                                 {same(), writer_.scalar("segments.zero", 0, dtype),
                                  writer_.scalar("segments.far_below", far_below(dtype), dtype)},
                                 "segments.bias"));
}

// ArgMax finds the first of equal numbers.
const std::string& Segments::first(DType dtype) {
  std::string& first = first_[dtype];
  if (!first.empty()) return first;
  if (dtype != DType::int64) {
    const std::string wide = this->first(DType::int64);
    return keep(first, writer_.cast(wide, dtype, "segments.first"));
  }
  const std::string numbers = writer_.cast(pairs(), DType::int32, "segments.numbers");
  return keep(first, writer_.node("ArgMax", {numbers}, "segments.first",
                                  {{"axis", std::int64_t{2}}, {"keepdims", std::int64_t{0}}}));
}

std::string Segments::size(std::int64_t axis) {
  const std::string shape = writer_.node("Shape", {segments_}, "segments.shape");
  return writer_.node("Gather", {shape, integers(writer_, "segments.axis", {axis})},
                      "segments.dim");
}

const std::string& Segments::dims_by_heads() {
  if (!dims_by_heads_.empty()) return dims_by_heads_;
  const std::string tokens = size(1);
  return keep(
      dims_by_heads_,
      writer_.node("Concat", {size(0), integers(writer_, "segments.heads", {-1}), tokens, tokens},
                   "segments.dims_by_heads", {{"axis", std::int64_t{0}}}));
}

const std::string& Segments::dims() {
  if (!dims_.empty()) return dims_;
  const std::string tokens = size(1);
  return keep(dims_,
              writer_.node("Concat", {integers(writer_, "segments.rest", {-1}), tokens, tokens},
                           "segments.dims", {{"axis", std::int64_t{0}}}));
}

std::string Segments::zero(DType dtype) {
  return writer_.initializer("segments.first_position", scalar_tensor(0, dtype));
}

void Segments::finish(PackedNetwork& network, const ValueDef* ids) {
  network.nodes = std::move(graph_.nodes);
  network.constants = std::move(graph_.initializers);
  network.values = std::move(values_);
  network.segments.name = segments_;
  std::vector<DimDef> dims(2);
  if (ids != nullptr && ids->type.dims && ids->type.dims->size() == 2) dims = *ids->type.dims;
  network.segments.type = tensor_type(DType::int64, std::move(dims));
}

}  // namespace ondine::graph
