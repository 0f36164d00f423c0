#include "kernels/attention/attention_kernels.h"

#include <utility>

#include "kernels/attention/attention_operands.h"
#include "kernels/attention/few_queries.h"
#include "kernels/matmul/product_kernels.h"

namespace ondine::kernels::ops {
namespace {

using namespace graph;  // NOLINT

// The masks of a node, as its kernel reads them.
template <class C>
class ScoresIn {
 public:
  ScoresIn(const BindContext& context, Scratch& scratch, const AttentionCall& layout)
      : mask_(context, scratch, layout.mask, layout.shape.keys),
        more_(context, scratch, layout.more, layout.shape.keys) {}

  math::AttentionScores<C> operator()(KernelContext& call, const AttentionCall& layout) const {
    return {.scale = static_cast<C>(layout.scale),
            .mask = mask_(call),
            .offsets = layout.mask.offsets.data(),
            .zero_rows = layout.zero_rows,
            .more = more_(call),
            .more_offsets = layout.more.offsets.data(),
            .cap = static_cast<C>(layout.cap)};
  }

 private:
  MaskIn<C> mask_, more_;
};

// Keys or values in two parts, copied together in the layout of q: inputs `at` and `at` + 1.
class JoinedRows {
 public:
  JoinedRows(const BindContext& context, Scratch& scratch, std::size_t at)
      : at_(at), beside_(is_interleaved(context)) {
    const bool rows_first = has_rows_first(context);
    const Shape shape = context.shape(at + 1);
    samples_ = shape[0];
    heads_ = shape[rows_first ? 2 : 1];
    size_ = shape[3];
    for (std::size_t i = 0; i < 2; ++i) {
      rows_[i] = context.shape(at + i)[rows_first ? 1 : 2];
      from_[i] = math::HeadSteps::of(heads_, rows_[i], size_, rows_first);
    }
    to_ = math::HeadSteps::of(heads_, rows_[0] + rows_[1], size_, beside_);
    offset_ = scratch.add<float>(checked_mul(samples_ * heads_ * size_, rows_[0] + rows_[1]));
  }
  const float* operator()(KernelContext& call) const {
    auto* const to = Scratch::at<float>(call, offset_);
    call.pool().for_chunks(samples_ * heads_, 1, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) {
        float* head = to + i / heads_ * to_.sample + i % heads_ * to_.head;
        head = copy(call, 0, i, head);
        copy(call, 1, i, head);
      }
    });
    return to;
  }

 private:
  // Returns where the next part goes.
  float* copy(KernelContext& call, std::size_t part, std::int64_t head, float* to) const {
    const math::HeadSteps& steps = from_[part];
    const float* from =
        call.in<float>(at_ + part) + head / heads_ * steps.sample + head % heads_ * steps.head;
    for (std::int64_t row = 0; row < rows_[part]; ++row, from += steps.row, to += to_.row) {
      std::copy_n(from, size_, to);
    }
    return to;
  }

  std::size_t at_;
  bool beside_;
  std::int64_t samples_, heads_, size_;
  std::array<std::int64_t, 2> rows_{};
  std::array<math::HeadSteps, 2> from_;
  math::HeadSteps to_;
  std::size_t offset_;
};

template <class C>
bool takes_bf16(const BindContext& context, const AttentionCall& layout) {
  return math::AttentionPrimitive<C>::takes_bf16(layout.shape, product_kernels(context));
}

}  // namespace

RoundedInputs rounded_operands(const BindContext& context, const AttentionCall& layout) {
  const std::uint32_t operands = ((1U << layout.operands) - 1) << layout.at;
  for (std::size_t i = 0; i < layout.operands; ++i) {
    if (!may_round(context.dtype(layout.at + i))) return {};
  }
  const bool rounds = layout.copied_heads == 1 && takes_bf16<float>(context, layout);
  return {operands, rounds ? operands : 0};
}

Kernel bind_attention(BindContext& context, AttentionCall layout) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    Scratch scratch;
    const OperandsIn<C> operands(context, scratch, layout, takes_bf16<C>(context, layout));
    const ScoresIn<C> scores(context, scratch, layout);
    const HeadsOut<C> y(context, scratch, 0, layout.y_rows());
    const math::AttentionPrimitive<C> attention(layout.shape, context.threads(),
                                                product_kernels(context));
    const std::size_t work = scratch.add_bytes(attention.workspace());
    context.set_implementation(attention.name(), attention.isa());
    scratch.request(context);
    return [=, layout = std::move(layout)](KernelContext& call) {
      attention.run(call.pool(), scores(call, layout), operands(call), y.data(call),
                    Scratch::at<std::byte>(call, work));
      y.store(call);
    };
  });
}

Kernel bind_attention_in_parts(BindContext& context, AttentionCall layout) {
  Scratch scratch;
  const JoinedRows k(context, scratch, 1), v(context, scratch, 3);
  const ScoresIn<float> scores(context, scratch, layout);
  const math::AttentionPrimitive<float> attention(layout.shape, context.threads(),
                                                  product_kernels(context));
  const std::size_t work = scratch.add_bytes(attention.workspace());
  context.set_implementation(attention.name(), attention.isa());
  scratch.request(context);
  return [=, layout = std::move(layout)](KernelContext& call) {
    attention.run(call.pool(), scores(call, layout), {call.in<float>(0), k(call), v(call)},
                  call.out<float>(0), Scratch::at<std::byte>(call, work));
  };
}

Kernel bind_attention_gradient(BindContext& context, AttentionCall layout) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    const bool trains_mask = context.has_output(layout.operands);
    Scratch scratch;
    const HeadsIn<C> dy(context, scratch, 0, layout.y_rows());
    const OperandsIn<C> operands(context, scratch, layout, takes_bf16<C>(context, layout));
    const ScoresIn<C> scores(context, scratch, layout);
    const OperandsOut<C> derivatives(context, scratch, layout);
    const MaskOut<C> dmask(context, scratch, layout);
    const math::AttentionPrimitive<C> attention(layout.shape, context.threads(),
                                                product_kernels(context), trains_mask);
    const std::size_t work = scratch.add_bytes(attention.workspace());
    context.set_implementation(attention.name(), attention.isa());
    scratch.request(context);
    auto heads = trains_mask ? layout.mask.heads_by_part() : std::vector<std::int64_t>();
    return [=, layout = std::move(layout), heads = std::move(heads)](KernelContext& call) {
      auto of_call = scores(call, layout);
      of_call.heads_by_mask = heads.data();
      auto gradients = derivatives.data(call);
      gradients.dmask = dmask.data(call);
      attention.run_gradient(call.pool(), of_call, operands(call), dy(call), gradients,
                             Scratch::at<std::byte>(call, work));
      derivatives.store(call);
      dmask.store(call);
    };
  });
}

}  // namespace ondine::kernels::ops
