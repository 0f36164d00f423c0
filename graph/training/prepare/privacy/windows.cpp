#include "graph/training/prepare/privacy/windows.h"

#include <algorithm>

#include "core/message.h"
#include "graph/training/prepare/losses/pieces.h"
#include "graph/training/prepare/privacy/rows.h"

namespace ondine::graph {
namespace {

using Sizes = std::vector<std::optional<std::int64_t>>;

std::vector<std::int64_t> attribute(const NodeDef& node, std::string_view name, std::size_t count,
                                    std::int64_t otherwise) {
  const Attribute* found = find(node.attributes, name);
  const auto* list =
      found == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(&found->data);
  return list != nullptr && list->size() == count ? *list
                                                  : std::vector<std::int64_t>(count, otherwise);
}

class Windows {
 public:
  Windows(const BatchValues& batch, const NodeDef& node, const std::vector<std::int64_t>& weight,
          const Sizes& in, const Sizes& out, const std::string& like)
      : batch_(&batch),
        node_(&node),
        in_(in.begin() + 2, in.end()),
        out_(out.begin() + 2, out.end()),
        kernel_(weight.begin() + 2, weight.end()),
        strides_(attribute(node, "strides", kernel_.size(), 1)),
        dilations_(attribute(node, "dilations", kernel_.size(), 1)),
        groups_(integer_attribute(node, "group", 1)),
        channels_(weight[1] * groups_),
        like_(like) {}

  std::string write() {
    const std::string x = padded();
    const std::int64_t count = product();
    const bool is_whole = count == 1 && std::all_of(strides_.begin(), strides_.end(),
                                                    [](std::int64_t one) { return one == 1; });
    if (is_whole) return batch_->reshaped(x, {channels_, 1, -1});
    write_spans();
    std::vector<std::string> windows;
    std::vector<std::int64_t> offset(kernel_.size(), 0);
    for (std::int64_t i = 0; i < count; ++i) {
      windows.push_back(batch_->reshaped(window(x, offset), {channels_, 1, -1}));
      for (std::size_t axis = kernel_.size(); axis-- > 0;) {
        if (++offset[axis] < kernel_[axis]) break;
        offset[axis] = 0;
      }
    }
    if (windows.size() == 1) return windows[0];
    return batch_->node("Concat", std::move(windows), "windows", {{"axis", std::int64_t{2}}});
  }

 private:
  std::int64_t product() const {
    std::int64_t count = 1;
    for (const std::int64_t one : kernel_) count *= one;
    return count;
  }

  std::vector<std::int64_t> pads() const {
    const std::size_t n = kernel_.size();
    const Attribute* found = find(node_->attributes, "auto_pad");
    const auto* mode = found == nullptr ? nullptr : std::get_if<std::string>(&found->data);
    if (mode == nullptr || *mode == "NOTSET") return attribute(*node_, "pads", 2 * n, 0);
    std::vector<std::int64_t> result(2 * n, 0);
    if (*mode == "VALID") return result;
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t reach = dilations_[i] * (kernel_[i] - 1) + 1;
      std::int64_t all = reach - 1;
      if (strides_[i] != 1) {
        if (!in_[i]) {
          fail(ErrorCode::unsupported, described(*node_),
               " is padded by sizes that are unknown, which training with privacy needs to know");
        }
        const std::int64_t steps = (*in_[i] + strides_[i] - 1) / strides_[i];
        all = std::max<std::int64_t>(0, (steps - 1) * strides_[i] + reach - *in_[i]);
      }
      const bool is_lower = *mode == "SAME_LOWER";
      result[i] = is_lower ? all - all / 2 : all / 2;
      result[i + n] = all - result[i];
    }
    return result;
  }

  std::string padded() const {
    const std::vector<std::int64_t> spatial = pads();
    if (std::all_of(spatial.begin(), spatial.end(), [](std::int64_t one) { return one == 0; })) {
      return node_->inputs[0];
    }
    const auto half = static_cast<std::ptrdiff_t>(kernel_.size());
    std::vector<std::int64_t> all{0, 0};
    all.insert(all.end(), spatial.begin(), spatial.begin() + half);
    all.insert(all.end(), {0, 0});
    all.insert(all.end(), spatial.begin() + half, spatial.end());
    return batch_->node("Pad", {node_->inputs[0], batch_->numbers(all)}, "padded");
  }

  // (positions - 1) * stride + 1 along each axis: constants, or int64 [axes].
  void write_spans() {
    is_known_ =
        std::all_of(out_.begin(), out_.end(), [](const auto& one) { return one.has_value(); });
    if (is_known_) {
      for (std::size_t i = 0; i < out_.size(); ++i) {
        spans_.push_back((*out_[i] - 1) * strides_[i] + 1);
      }
      return;
    }
    const std::string shape = batch_->node("Shape", {like_}, "shape");
    const auto n = static_cast<std::int64_t>(kernel_.size());
    const std::string spatial =
        batch_->node("Slice", {shape, batch_->numbers({2}), batch_->numbers({2 + n})}, "spatial");
    const std::string one = batch_->numbers({1});
    const std::string steps = batch_->node("Sub", {spatial, one}, "steps");
    const std::string moved = batch_->node("Mul", {steps, batch_->numbers(strides_)}, "moved");
    span_ = batch_->node("Add", {moved, one}, "span");
  }

  std::string window(const std::string& x, const std::vector<std::int64_t>& offset) const {
    std::vector<std::int64_t> starts, ends, axes;
    for (std::size_t i = 0; i < kernel_.size(); ++i) {
      starts.push_back(offset[i] * dilations_[i]);
      axes.push_back(static_cast<std::int64_t>(i) + 2);
      if (is_known_) ends.push_back(starts[i] + spans_[i]);
    }
    const std::string from = batch_->numbers(starts);
    const std::string to =
        is_known_ ? batch_->numbers(ends) : batch_->node("Add", {span_, from}, "ends");
    return batch_->node("Slice", {x, from, to, batch_->numbers(axes), batch_->numbers(strides_)},
                        "window");
  }

  const BatchValues* batch_;
  const NodeDef* node_;
  Sizes in_;
  Sizes out_;
  std::vector<std::int64_t> kernel_;
  std::vector<std::int64_t> strides_;
  std::vector<std::int64_t> dilations_;
  std::int64_t groups_;
  std::int64_t channels_;
  std::string like_;
  bool is_known_ = false;
  std::vector<std::int64_t> spans_;
  std::string span_;
};

}  // namespace

std::string write_windows(const BatchValues& batch, const NodeDef& node,
                          const std::vector<std::int64_t>& weight, const Sizes& in,
                          const Sizes& out, const std::string& like) {
  return Windows(batch, node, weight, in, out, like).write();
}

}  // namespace ondine::graph
