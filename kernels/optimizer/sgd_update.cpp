// sgd_update.cpp — SgdUpdate (ai.ondine): one step down a gradient in one pass over the variable,
// w' = w - rate g. Inputs w, g, rate (one element).
#include "kernels/common/expansion.h"
#include "kernels/optimizer/update_sink.h"

namespace ondine::kernels::ops {
namespace {

Kernel bind(BindContext& context) {
  const std::int64_t n = context.shape(0).size();
  return visit(context.dtype(0), Types<float, double>{}, [&]<class T>() -> Kernel {
    return [n](KernelContext& call) {
      const math::Sgd<T> options{.rate = *call.in<T>(2)};
      math::sgd(call.pool(), options, n, call.in<T>(0), call.in<T>(1), call.out<T>(0));
    };
  });
}

std::vector<Val> expand(ExpandContext& context) {
  return {context.x(0) - context.x(1) * context.x(2)};
}

template <class T>
class SgdSink final : public UpdateSink<T> {
 public:
  explicit SgdSink(const UpdateInputs& inputs) : w_(inputs.at(0)), rate_(inputs.at(2)) {}

  void take(KernelContext& call, const UpdateStrip<T>& strip) const override {
    math::sgd(call.pool(), {.rate = *call.in<T>(rate_)}, strip.count, call.in<T>(w_) + strip.first,
              strip.gradient, call.out<T>(0) + strip.first);
  }

  static MadeSink<T> make(const BindContext&, const UpdateInputs& inputs) {
    return std::make_shared<SgdSink>(inputs);
  }

 private:
  std::size_t w_, rate_;
};

std::size_t outputs(const NodeView&, std::size_t inputs) {
  if (inputs != 3) {
    fail(ErrorCode::invalid_model, "a SgdUpdate has ", inputs, " inputs, needed: 3");
  }
  return 1;
}

}  // namespace

extern const OpDef sgd_update{.name = "SgdUpdate",
                              .domain = ondine_domain,
                              .infer = infer_same_as_input,
                              .bind = bind,
                              .grad = grad_of_expansion,
                              .expand = expand,
                              .traits = {.inplace = 3, .cannot_fail = true}};

extern const UpdateRule sgd_update_rule{"SgdUpdate", ondine_domain, outputs, SgdSink<float>::make,
                                        SgdSink<double>::make};

}  // namespace ondine::kernels::ops
