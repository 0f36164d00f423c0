// non_max_suppression.cpp — for each batch and class the boxes of the best scores (above
// score_threshold, at most max_output_boxes_per_class), without those that overlap a better
// one by more than iou_threshold: rows of [batch, class, box], best first; equal scores in the
// order of the boxes. No derivative. Version 11 changed the wording only.
#include <algorithm>
#include <limits>

#include "core/stop.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/kernel_output.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

struct Box {
  float x0, y0, x1, y1;
  float area() const { return (x1 - x0) * (y1 - y0); }
};

Box read_box(const float* p, bool centre) {
  if (centre) {
    const float w = p[2] / 2;
    const float h = p[3] / 2;
    return {p[0] - w, p[1] - h, p[0] + w, p[1] + h};
  }
  return {std::min(p[1], p[3]), std::min(p[0], p[2]), std::max(p[1], p[3]), std::max(p[0], p[2])};
}

bool overlap(const Box& a, const Box& b, float threshold) {
  const float w = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const float h = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (!(w > 0 && h > 0)) return false;
  const float common = w * h;
  const float together = a.area() + b.area() - common;
  if (!(a.area() > 0 && b.area() > 0 && together > 0)) return false;
  return common / together > threshold;
}

void infer(InferContext& context) {
  const Dims boxes = dims_of_rank(context, 0, 3, "boxes");
  const Dims scores = dims_of_rank(context, 1, 3, "scores");
  unify(boxes[0], scores[0], "batches");
  unify(boxes[1], scores[2], "numbers of boxes");
  unify(boxes[2], 4, "coordinates of a box");
  const std::int64_t centre = context.attr_int("center_point_box", 0);
  if (centre != 0 && centre != 1) context.reject("center_point_box is ", centre);
  for (std::size_t i = 0; i < 5; ++i) {
    if (!context.has_input(i)) continue;
    const DType want = i == 2 ? DType::int64 : DType::float32;
    if (context.dtype(i) != want) {
      context.reject("input ", i, " is ", context.dtype(i), ", needed: ", want);
    }
    if (i < 2 || !context.ranked(i)) continue;
    unify(graph::product(context.dims(i)), 1, "elements of a parameter");
  }
  context.set_output(0, DType::int64, Dims{Dim(), 3});
}

template <class T>
T parameter(const KernelContext& call, bool given, std::size_t input, T otherwise) {
  return given ? *call.in<T>(input) : otherwise;
}

Kernel bind(BindContext& context) {
  const bool centre = context.attr_int("center_point_box", 0) != 0;
  const Shape scores = context.shape(1);
  const Output output(context, 0);
  const bool has_count = context.has_input(2);
  const bool has_iou = context.has_input(3);
  const bool has_score = context.has_input(4);
  return [=](KernelContext& call) {
    const auto max_boxes = parameter<std::int64_t>(call, has_count, 2, 0);
    const float iou = parameter<float>(call, has_iou, 3, 0);
    const float least =
        parameter<float>(call, has_score, 4, -std::numeric_limits<float>::infinity());
    const std::int64_t classes = scores[1];
    const std::int64_t count = scores[2];
    std::vector<std::int64_t> rows;
    std::vector<std::int64_t> order;
    std::vector<Box> kept;
    for (std::int64_t at = 0; at < scores[0] * classes && max_boxes > 0; ++at) {
      const float* boxes = call.in<float>(0) + at / classes * count * 4;
      const float* score = call.in<float>(1) + at * count;
      order.clear();
      kept.clear();
      for_pieces(count, 4, [&](std::int64_t first, std::int64_t last) {
        for (auto i = first; i < last; ++i) {
          if (has_score ? score[i] > least : score[i] == score[i]) order.push_back(i);
        }
      });
      const auto better = [&](std::int64_t a, std::int64_t b) { return score[a] > score[b]; };
      sort_checked(count, better,
                   [&](const auto& less) { std::stable_sort(order.begin(), order.end(), less); });
      for (const std::int64_t i : order) {
        if (static_cast<std::int64_t>(kept.size()) >= max_boxes) break;
        checkpoint(4 * static_cast<std::int64_t>(kept.size()) + 16);
        const Box box = read_box(boxes + i * 4, centre);
        if (std::any_of(kept.begin(), kept.end(),
                        [&](const Box& other) { return overlap(other, box, iou); })) {
          continue;
        }
        kept.push_back(box);
        rows.insert(rows.end(), {at / classes, at % classes, i});
      }
      call.check_cancelled();
    }
    const Shape shape{static_cast<std::int64_t>(rows.size()) / 3, 3};
    std::copy(rows.begin(), rows.end(), output.memory<std::int64_t>(call, shape));
  };
}

}  // namespace

extern const OpDef non_max_suppression{
    .name = "NonMaxSuppression", .infer = infer, .bind = bind, .no_gradient = any_input};

}  // namespace ondine::kernels::ops
