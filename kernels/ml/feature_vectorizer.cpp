// feature_vectorizer.cpp — the inputs as floats side by side; a vector is one row. Composed of Cast
// and Concat.
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/ml/row_model.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  const auto sizes = context.attr_ints("inputdimensions");
  if (context.has_attr("inputdimensions")) {
    require_count("inputdimensions", sizes.size(), context.input_count());
  }
  Dim rows;
  Dim columns = 0;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    Dim row;
    Dim width = sizes.empty() ? Dim() : Dim(sizes[i]);
    if (context.ranked(i)) {
      const Dims& dims = context.dims(i);
      if (dims.size() != 1 && dims.size() != 2) {
        context.reject("input ", i, " must have shape [N, C] or [C], found ",
                       graph::to_string(dims));
      }
      row = dims.size() == 1 ? Dim(1) : dims[0];
      width = unify(dims.back(), width, "input and inputdimensions");
    }
    rows = unify(rows, row, "rows of the inputs");
    columns = graph::add(columns, width);
  }
  context.set_output(0, DType::float32, Dims{rows, columns});
}

std::vector<Val> expand(ExpandContext& context) {
  const auto sizes = context.attr_ints("inputdimensions");
  std::vector<Val> parts;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    Val x = context.x(i);
    if (!x.ranked()) fail(ErrorCode::unsupported, "the rank of input ", i, " must be known");
    if (!sizes.empty()) x = with_dim(x, -1, sizes[i], "input and inputdimensions");
    if (x.rank() == 1) x = unsqueeze(x, {0});
    parts.push_back(cast(x, DType::float32));
  }
  return {concat(parts, 1)};
}

}  // namespace

extern const OpDef feature_vectorizer{
    .name = "FeatureVectorizer", .domain = ml_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
