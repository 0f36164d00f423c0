// FusedElementwise as a sink: any optimizer that is written with element-wise operators.
#include "kernels/elementwise/fused_blocks.h"
#include "kernels/optimizer/update_sink.h"

namespace ondine::kernels::ops {
namespace {

template <class T>
class FusedElementwiseSink final : public UpdateSink<T> {
 public:
  FusedElementwiseSink(const BindContext& context, const UpdateInputs& inputs)
      : inputs_(inputs),
        count_(context.input_count() - inputs.first + 1),
        outputs_(context.output_count()),
        blocks_(FusedElementwise::read(context, count_), numbers(context), wanted(context)) {}

  void take(KernelContext& call, const UpdateStrip<T>& strip) const override {
    const T* in[FusedElementwise::max_operands];
    T* out[FusedElementwise::max_operands];
    for (std::size_t i = 0; i < count_; ++i) {
      if (i == inputs_.gradient) {
        in[i] = strip.gradient;
      } else {
        in[i] = call.in<T>(inputs_.at(i)) + (blocks_.is_number(i) ? 0 : strip.first);
      }
    }
    for (std::size_t k = 0; k < outputs_; ++k) {
      out[k] = blocks_.wants(k) ? call.out<T>(k) + strip.first : nullptr;
    }
    blocks_.run(in, out, 0, strip.count);
  }

  static MadeSink<T> make(const BindContext& context, const UpdateInputs& inputs) {
    return std::make_shared<FusedElementwiseSink>(context, inputs);
  }

 private:
  std::vector<char> numbers(const BindContext& context) const {
    std::vector<char> numbers(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      numbers[i] = i != inputs_.gradient && context.shape(inputs_.at(i)).size() == 1 ? 1 : 0;
    }
    return numbers;
  }
  static std::vector<char> wanted(const BindContext& context) {
    std::vector<char> wanted;
    for (std::size_t k = 0; k < context.output_count(); ++k) {
      wanted.push_back(context.has_output(k) ? 1 : 0);
    }
    return wanted;
  }

  UpdateInputs inputs_;
  std::size_t count_, outputs_;
  FusedBlocks<T> blocks_;
};

std::size_t outputs(const NodeView& node, std::size_t inputs) {
  return FusedElementwise::read(node, inputs).results.size();
}

}  // namespace

extern const UpdateRule fused_elementwise_rule{"FusedElementwise", ondine_domain, outputs,
                                               FusedElementwiseSink<float>::make,
                                               FusedElementwiseSink<double>::make};

}  // namespace ondine::kernels::ops
