// reverse_sequence.cpp — y = x with the first sequence_lens[b] steps of each batch element b in
// reverse order;  dx = the same of dy.
#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"
#include "kernels/common/strided_copy.h"

namespace ondine::kernels::ops {
namespace {

// Batch and time: the first two axes, one each.
std::pair<std::size_t, std::size_t> axes_of(const NodeView& node) {
  const std::int64_t batch = node.attr_int("batch_axis", 1);
  const std::int64_t time = node.attr_int("time_axis", 0);
  if (!(batch == 0 && time == 1) && !(batch == 1 && time == 0)) {
    fail(ErrorCode::mismatch, "batch_axis ", batch, " and time_axis ", time, ", not 0 and 1");
  }
  return {static_cast<std::size_t>(batch), static_cast<std::size_t>(time)};
}

void infer(InferContext& context) {
  const auto [batch, time] = axes_of(context);
  if (context.ranked(0) && context.rank(0) < 2) {
    context.reject("an input of rank ", context.rank(0), ", not 2 or more");
  }
  if (context.ranked(0) && context.ranked(1)) {
    if (context.rank(1) != 1) context.reject("sequence_lens of rank ", context.rank(1));
    unify(context.dims(0)[batch], context.dims(1)[0], "batch size and number of lengths");
  }
  context.set_output(0, context.input(0));
}

Kernel bind(BindContext& context) {
  const auto [batch, time] = axes_of(context);
  const Shape x = context.shape(0);
  const std::int64_t batches = x[batch];
  const std::int64_t steps = x[time];
  const std::int64_t inner = x.size(2, x.rank());
  const std::int64_t batch_stride = batch == 0 ? steps * inner : inner;
  const std::int64_t time_stride = batch == 0 ? inner : batches * inner;
  return visit_size(context.dtype(0), [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const std::int64_t* lengths = call.in<std::int64_t>(1);
      for (std::int64_t b = 0; b < batches; ++b) {
        if (lengths[b] < 0 || lengths[b] > steps) {
          fail(ErrorCode::mismatch, "sequence length ", lengths[b], " of batch element ", b,
               " is outside [0, ", steps, "]");
        }
      }
      call.pool().for_chunks(batches, 1, [&](std::int64_t first, std::int64_t last) {
        for (auto b = first; b < last; ++b) {
          const T* from = call.in<T>(0) + b * batch_stride;
          T* to = call.out<T>(0) + b * batch_stride;
          for (std::int64_t t = 0; t < steps; ++t) {
            const std::int64_t source = t < lengths[b] ? lengths[b] - 1 - t : t;
            std::copy_n(from + source * time_stride, inner, to + t * time_stride);
          }
        }
      });
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("ReverseSequence", {g.dy(0), g.x(1)}, g.node().attributes)};
}

}  // namespace

extern const OpDef reverse_sequence{
    .name = "ReverseSequence", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
