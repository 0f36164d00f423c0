// projected_update.cpp — ProjectedUpdate (ai.ondine), an update of a matrix (update_node.h) with
// the gradient that ProjectedWeightGrad computes of the sources (dloss, h, labels, logarithms) and
// the matrix. Each block of classes is updated when its gradient is known. Attributes of the
// gradient: those of ProjectedWeightGrad. The results have the bits of ProjectedWeightGrad,
// GatherGrad, the optimizer and SgdUpdate. Rows of dy go to a matrix whose rows are classes.
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/loss/head_gradient.h"
#include "kernels/optimizer/update_node.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t { dloss_in = source_in, rows_in, labels_in, logarithms_in };
constexpr std::size_t sources = 4;

void infer(InferContext& context) {
  infer_update(context, sources);
  if (context.has_input(dy_in) && !has_class_rows(context)) {
    context.reject("rows are added to a variable whose rows are no classes");
  }
}

template <class T>
class Update {
 public:
  Update(BindContext& context, const UpdateNode& node)
      : classes_(context.shape(node.variable)[0]),
        depth_(context.shape(node.variable)[1]),
        update_(context, node) {
    Scratch scratch;
    scratch.add_bytes(update_.index_bytes());
    const HeadInputs inputs{.dloss = dloss_in,
                            .h = rows_in,
                            .w = node.variable,
                            .labels = labels_in,
                            .logarithms = logarithms_in};
    const std::int64_t most = HeadGradient<T>::most_elements(context, context.shape(node.variable));
    head_.emplace(context, scratch, inputs, update_.unused_bytes(most), false);
    context.set_implementation(head_->name(), head_->isa());
    scratch.request(context);
  }

  void operator()(KernelContext& call) const {
    const std::int64_t* const index = update_.read_indices(call, classes_);
    head_->run(call, [&](const HeadBlock<T>& block, std::byte* unused) {
      update_.add_rows(call, index, block.first_class, block.first_class + block.classes, depth_,
                       block.derivative);
      for (std::int64_t i = 0; i < block.rows; ++i) {
        update_.take(call, block.first + i * block.step, block.length,
                     block.derivative + i * block.length, reinterpret_cast<T*>(unused));
      }
    });
  }

 private:
  std::int64_t classes_, depth_;  // of a matrix whose rows are classes
  UpdateParts<T> update_;
  std::optional<HeadGradient<T>> head_;
};

Kernel bind(BindContext& context) {
  const UpdateNode node(context, sources);
  return visit(context.dtype(node.variable), Types<float, double>{}, [&]<class T>() -> Kernel {
    return [update = Update<T>(context, node)](KernelContext& call) { update(call); };
  });
}

std::vector<Val> expand(ExpandContext& context) {
  const UpdateNode node(context, sources);
  const graph::Attributes attributes = head_attributes(context);
  const Val gradient =
      context.builder().node("ProjectedWeightGrad",
                             {context.x(dloss_in), context.x(rows_in), context.x(node.variable),
                              context.x(labels_in), context.x(logarithms_in)},
                             attributes, ondine_domain);
  return expand_update(context, sources, gradient, attributes);
}

}  // namespace

extern const OpDef projected_update{.name = "ProjectedUpdate",
                                    .domain = ondine_domain,
                                    .infer = infer,
                                    .bind = bind,
                                    .grad = grad_of_expansion,
                                    .expand = expand,
                                    .traits = update_traits(sources)};

}  // namespace ondine::kernels::ops
