// regex_full_match.cpp — whether the whole text matches a regular expression (RE2's syntax).
#include "kernels/common/op.h"
#include "kernels/text/regex.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  if (!context.has_attr("pattern")) {
    fail(ErrorCode::invalid_model, "attribute 'pattern' is missing");
  }
  context.set_output(0, DType::boolean, context.input(0).dims);
}

Kernel bind(BindContext& context) {
  const std::int64_t n = context.shape(0).size();
  return [n, regex = Regex(context.attr_string("pattern", ""))](KernelContext& call) {
    const auto* x = call.in<std::string>(0);
    bool* y = call.out<bool>(0);
    call.pool().for_chunks(n, 64, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) y[i] = regex.matches_all_of(x[i]);
    });
  };
}

}  // namespace

extern const OpDef regex_full_match{.name = "RegexFullMatch", .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops
