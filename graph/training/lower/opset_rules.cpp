// Operators whose attributes became inputs, or that were renamed or redefined, before version 18.
// A rule writes the newest form; where the target lacks an attribute of that, converting the node
// fails by name.
#include <algorithm>
#include <array>

#include "graph/contract/ops.h"
#include "graph/training/lower/opset.h"

namespace ondine::graph {
namespace {

// The attribute `axes` as the second input.
std::vector<Val> axes_input(OldNode& old) {
  const Val axes = old.has_attr("axes") ? old.builder().int64s(old.attr_ints("axes")) : Val();
  const Val inputs[] = {old.x(0), axes};
  return old.again(inputs, old.without({"axes"}));
}

// Before version 13 all axes from `axis` on are one.
std::vector<Val> flat_softmax(OldNode& old) {
  const Val x = old.x(0);
  if (!x.ranked()) fail(ErrorCode::unsupported, old.node().op->name, " needs a known rank");
  const auto axis = NodeView::normalize_axis(old.attr_int("axis", 1), x.rank());
  if (axis + 1 == x.rank()) {
    return old.again({{x}}, {{"axis", static_cast<std::int64_t>(axis)}});
  }
  const Val flat = old.builder().node("Flatten", {x}, {{"axis", static_cast<std::int64_t>(axis)}});
  const Val y = old.builder().node(old.node().op->name, {flat}, {{"axis", std::int64_t{1}}});
  return {reshape_like(y, x)};
}

std::vector<Val> clip_inputs(OldNode& old) {
  const auto bound = [&](const char* name) {
    return old.has_attr(name) ? scalar_like(old.x(0), old.attr_float(name, 0)) : Val();
  };
  const Val inputs[] = {old.x(0), bound("min"), bound("max")};
  return old.again(inputs, {});
}

std::vector<Val> dropout_inputs(OldNode& old) {
  const Val inputs[] = {old.x(0),
                        old.builder().scalar(old.attr_float("ratio", 0.5F), DType::float32)};
  return old.again(inputs, {});
}

std::vector<Val> pad_inputs(OldNode& old) {
  const Val inputs[] = {
      old.x(0), old.builder().int64s(old.attr_ints(old.version() == 1 ? "paddings" : "pads")),
      scalar_like(old.x(0), old.attr_float("value", 0))};
  return old.again(inputs, old.without({"pads", "paddings", "value"}));
}

std::vector<Val> slice_inputs(OldNode& old) {
  Builder& b = old.builder();
  const Val inputs[] = {old.x(0), b.int64s(old.attr_ints("starts")),
                        b.int64s(old.attr_ints("ends")),
                        old.has_attr("axes") ? b.int64s(old.attr_ints("axes")) : Val()};
  return old.again(inputs, {});
}

// Without sizes of the parts, their number is an attribute since version 18.
std::vector<Val> split_inputs(OldNode& old) {
  Attributes attributes = old.without({"split"});
  Val sizes = old.x(1);
  if (!sizes && old.has_attr("split")) sizes = old.builder().int64s(old.attr_ints("split"));
  if (!sizes) {
    attributes.emplace_back("num_outputs", static_cast<std::int64_t>(old.output_count()));
  }
  const Val inputs[] = {old.x(0), sizes};
  return old.again(inputs, std::move(attributes));
}

std::vector<Val> top_k_inputs(OldNode& old) {
  const Val inputs[] = {old.x(0), old.builder().int64s({old.attr_int("k", 1)})};
  return old.again(inputs, old.without({"k"}));
}

std::vector<Val> reshape_inputs(OldNode& old) {
  const Val inputs[] = {old.x(0), old.builder().int64s(old.attr_ints("shape"))};
  return old.again(inputs, {});
}

// Upsample, and Resize of version 10: nearest is rounded down, coordinates are asymmetric.
std::vector<Val> resize_inputs(OldNode& old) {
  Val scales = old.x(1);
  if (!scales) {
    const auto given = old.attr_floats("scales");
    scales = old.builder().constant(
        Tensor::of<float>({static_cast<std::int64_t>(given.size())}, given), "scales");
  }
  const bool nearest = old.attr_string("mode", "nearest") == "nearest";
  const Val inputs[] = {old.x(0), Val(), scales};
  return old.again(inputs,
                   {{"mode", std::string(nearest ? "nearest" : "linear")},
                    {"coordinate_transformation_mode", std::string("asymmetric")},
                    {"nearest_mode", std::string("floor")}},
                   "Resize");
}

std::vector<Val> scatter_elements(OldNode& old) {
  return old.again(old.inputs(), old.node().attributes, "ScatterElements");
}

// The axis became an input; the signal's length stayed the second one.
std::vector<Val> dft_axis(OldNode& old) {
  const Val inputs[] = {old.x(0), old.x(1), old.builder().int64(old.attr_int("axis", 1))};
  return old.again(inputs, old.without({"axis"}));
}

std::vector<Val> grid_sample_mode(OldNode& old) {
  const std::string mode = old.attr_string("mode", "bilinear");
  Attributes attributes = old.without({"mode"});
  attributes.emplace_back("mode", mode == "bilinear"  ? std::string("linear")
                                  : mode == "bicubic" ? std::string("cubic")
                                                      : mode);
  return old.again(old.inputs(), std::move(attributes));
}

// Coordinates got an attribute whose default is another one.
std::vector<Val> roi_align_mode(OldNode& old) {
  Attributes attributes = old.node().attributes;
  attributes.emplace_back("coordinate_transformation_mode", std::string("output_half_pixel"));
  return old.again(old.inputs(), std::move(attributes));
}

constexpr std::array rules{OpsetRule{"Clip", 11, clip_inputs},
                           OpsetRule{"DFT", 20, dft_axis},
                           OpsetRule{"Dropout", 12, dropout_inputs},
                           OpsetRule{"GridSample", 20, grid_sample_mode},
                           OpsetRule{"Hardmax", 13, flat_softmax},
                           OpsetRule{"LogSoftmax", 13, flat_softmax},
                           OpsetRule{"Pad", 11, pad_inputs},
                           OpsetRule{"ReduceL1", 18, axes_input},
                           OpsetRule{"ReduceL2", 18, axes_input},
                           OpsetRule{"ReduceLogSum", 18, axes_input},
                           OpsetRule{"ReduceLogSumExp", 18, axes_input},
                           OpsetRule{"ReduceMax", 18, axes_input},
                           OpsetRule{"ReduceMean", 18, axes_input},
                           OpsetRule{"ReduceMin", 18, axes_input},
                           OpsetRule{"ReduceProd", 18, axes_input},
                           OpsetRule{"ReduceSum", 13, axes_input},
                           OpsetRule{"ReduceSumSquare", 18, axes_input},
                           OpsetRule{"Reshape", 5, reshape_inputs},
                           OpsetRule{"Resize", 11, resize_inputs},
                           OpsetRule{"RoiAlign", 16, roi_align_mode},
                           OpsetRule{"Scatter", 11, scatter_elements},
                           OpsetRule{"Slice", 10, slice_inputs},
                           OpsetRule{"Softmax", 13, flat_softmax},
                           OpsetRule{"Split", 18, split_inputs},
                           OpsetRule{"Squeeze", 13, axes_input},
                           OpsetRule{"TopK", 10, top_k_inputs},
                           OpsetRule{"Unsqueeze", 13, axes_input},
                           OpsetRule{"Upsample", 10, resize_inputs}};

}  // namespace

const OpsetRule* find_opset_rule(std::string_view op, std::int64_t version, std::int64_t opset) {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const OpsetRule& rule) {
    return rule.op == op && version < rule.before && rule.before <= opset;
  });
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace ondine::graph
