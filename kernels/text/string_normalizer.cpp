// string_normalizer.cpp — x of shape [C] or [1, C] without the stop words, with changed case; one
// empty string when no word is left.
#include <unordered_set>

#include "kernels/common/kernel_output.h"
#include "kernels/common/op.h"
#include "kernels/text/unicode.h"

namespace ondine::kernels::ops {
namespace {

Case case_of(const NodeView& node) {
  const std::string action = node.attr_string("case_change_action", "NONE");
  if (action == "NONE") return Case::keep;
  if (action == "LOWER") return Case::lower;
  if (action == "UPPER") return Case::upper;
  fail(ErrorCode::invalid_model, "attribute 'case_change_action' is ", quoted(action),
       ", not LOWER, UPPER or NONE");
}

void infer(InferContext& context) {
  case_of(context);
  if (!context.ranked(0)) return context.set_output(0, DType::string, std::nullopt);
  Dims dims = context.dims(0);
  const bool row = dims.size() == 2 && (!dims[0].known() || dims[0].size() == 1);
  if (dims.size() != 1 && !row) {
    context.reject("x must have shape [C] or [1, C], found ", graph::to_string(dims));
  }
  if (row) dims[0] = 1;
  if (!context.attr_strings("stopwords").empty() || !dims.back().known()) {
    dims.back() = Dim();
  } else if (dims.back().size() == 0) {
    dims.back() = 1;
  }
  context.set_output(0, DType::string, std::move(dims));
}

Kernel bind(BindContext& context) {
  const Shape x = context.shape(0);
  const Case wanted = case_of(context);
  const bool exact = context.attr_int("is_case_sensitive", 0) != 0;
  const CaseChange change(context.attr_string("locale", "en_US"));
  const Case compared = exact ? Case::keep : Case::lower;
  std::unordered_set<std::string> stop;
  for (const std::string& word : context.attr_strings("stopwords")) {
    stop.insert(change.apply(compared, word));
  }
  return [=, output = Output(context, 0)](KernelContext& call) {
    const auto* from = call.in<std::string>(0);
    std::vector<std::string> kept;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      if (!stop.empty() && stop.count(change.apply(compared, from[i])) > 0) continue;
      kept.push_back(change.apply(wanted, from[i]));
    }
    if (kept.empty()) kept.emplace_back();
    Shape shape = x;
    shape[x.rank() - 1] = static_cast<std::int64_t>(kept.size());
    auto* to = output.memory<std::string>(call, shape);
    if (to != nullptr) std::move(kept.begin(), kept.end(), to);
  };
}

}  // namespace

extern const OpDef string_normalizer{.name = "StringNormalizer", .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops
