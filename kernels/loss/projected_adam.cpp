// projected_adam.cpp — ai.ondine ProjectedAdam(R, T, X, V, H, dloss, h, labels, logarithms, dy,
// indices, decay): Adam of one variable X with the gradient that ProjectedWeightGrad computes of
// (dloss, h, X, labels, logarithms), to which the rows of dy are added at their indices where
// given, as GatherGrad does. Where given, decay X is taken off the new X. Each block of the classes
// is updated when its gradient is known, so that this is never held as a whole. Attributes: those
// of Adam and of ProjectedWeightGrad. The results have the bits of ProjectedWeightGrad, GatherGrad,
// Adam and SgdUpdate.
#include <optional>

#include "kernels/common/expansion.h"
#include "kernels/common/index_input.h"
#include "kernels/common/op.h"
#include "kernels/loss/head_gradient.h"
#include "kernels/optimizer/adam.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t {
  x_in = 2,
  dloss_in = 5,
  rows_in,
  labels_in,
  logarithms_in,
  dy_in,
  indices_in,
  decay_in
};

void infer(InferContext& context) {
  infer_adam_parts(context, decay_in);
  if (context.has_input(dy_in) && !has_class_rows(context)) {
    context.reject("rows are added to a variable whose rows are no classes");
  }
}

template <class T>
class Update {
 public:
  explicit Update(BindContext& context)
      : classes_(context.shape(x_in)[0]),
        depth_(context.shape(x_in)[1]),
        adam_(context, decay_in, HeadGradient<T>::most_elements(context, context.shape(x_in))) {
    Scratch scratch;
    if (context.has_input(indices_in)) {
      indices_.emplace(context, indices_in);  // at the start of the workspace
      scratch.add<std::int64_t>(indices_->count());
    }
    constexpr HeadInputs inputs{.dloss = dloss_in,
                                .h = rows_in,
                                .w = x_in,
                                .labels = labels_in,
                                .logarithms = logarithms_in};
    head_.emplace(context, scratch, inputs, adam_.unused_bytes(), false);
    context.set_implementation(head_->name(), head_->isa());
    scratch.request(context);
  }

  void operator()(KernelContext& call) const {
    const math::Adam<T> options = adam_.options(call);
    const std::int64_t* index = indices_ ? indices_->read_unchecked(call, classes_) : nullptr;
    head_->run(call, [&](const HeadBlock<T>& block, std::byte* unused) {
      if (index != nullptr) add_rows(call, index, block);
      for (std::int64_t i = 0; i < block.rows; ++i) {
        adam_.update(call, options, block.first + i * block.step, block.length,
                     block.derivative + i * block.length, unused);
      }
    });
  }

 private:
  // In the order of the indices, to rows of X, which are those of classes.
  void add_rows(KernelContext& call, const std::int64_t* index, const HeadBlock<T>& block) const {
    const T* dy = call.in<T>(dy_in);
    for (std::int64_t i = 0; i < indices_->count(); ++i, dy += depth_) {
      const std::int64_t row = index[i] - block.first_class;
      if (row < 0 || row >= block.classes) continue;
      T* const to = block.derivative + row * depth_;
      for (std::int64_t k = 0; k < depth_; ++k) to[k] += dy[k];
    }
  }

  std::int64_t classes_, depth_;  // where X has class rows
  AdamParts<T> adam_;
  std::optional<IndexInput> indices_;
  std::optional<HeadGradient<T>> head_;
};

Kernel bind(BindContext& context) {
  return visit(context.dtype(x_in), Types<float, double>{}, [&]<class T>() -> Kernel {
    return [update = Update<T>(context)](KernelContext& call) { update(call); };
  });
}

std::vector<Val> expand(ExpandContext& context) {
  graph::Builder& b = context.builder();
  Val gradient = b.node("ProjectedWeightGrad",
                        {context.x(dloss_in), context.x(rows_in), context.x(x_in),
                         context.x(labels_in), context.x(logarithms_in)},
                        head_attributes(context), ondine_domain);
  if (context.x(dy_in)) {
    gradient = b.node(
        "GatherGrad",
        {context.x(dy_in), context.x(indices_in), graph::shape_of(context.x(x_in)), gradient},
        {{"axis", std::int64_t{0}}}, ondine_domain);
  }
  return expand_adam_parts(context, gradient, decay_in);
}

}  // namespace

extern const OpDef projected_adam{
    .name = "ProjectedAdam",
    .domain = ondine_domain,
    .infer = infer,
    .bind = bind,
    .grad = grad_of_expansion,
    .expand = expand,
    .traits = {.inplace = 0b11100, .cannot_fail = true, .inplace_every_output = true}};

}  // namespace ondine::kernels::ops
