#include "tests/fuzz/any_attribute.h"

#include "tests/fuzz/any_value.h"

namespace ondine::test {
namespace {

using graph::Attribute;
using graph::AttributeKind;

struct Words {
  std::string_view attribute;
  std::vector<std::string> values;
};

// Words that the standard's operators understand, by attribute.
const std::vector<Words>& known_words() {
  static const std::vector<Words> known{
      {"auto_pad", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}},
      {"mode",
       {"constant", "reflect", "edge", "wrap", "nearest", "linear", "cubic", "DCR", "CRD", "avg",
        "max", "bilinear", "TF", "IDF", "TFIDF", "linear_cache", "circular", "fmod"}},
      {"padding_mode", {"zeros", "border", "reflection"}},
      {"reduction", {"none", "mean", "sum", "add", "mul", "max", "min"}},
      {"direction", {"forward", "forward", "reverse", "bidirectional", "LEFT", "RIGHT"}},
      {"equation",
       {"ij,jk->ik", "i,i->", "ii->i", "...ij,...jk->...ik", "bij,bjk", "i,j,k->", "ij->ji", "->",
        "a,b,c,d->abcd", "i..j", "i->ii"}},
      {"activations", {"Tanh", "Sigmoid", "Relu", "HardSigmoid", "Softsign", "Affine", "Elu"}},
      {"coordinate_transformation_mode",
       {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
        "tf_crop_and_resize", "output_half_pixel"}},
      {"nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}},
      {"keep_aspect_ratio_policy", {"stretch", "not_larger", "not_smaller"}},
      {"approximate", {"none", "tanh"}},
      {"norm", {"MAX", "L1", "L2"}},
      {"post_transform", {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"}},
      {"aggregate_function", {"SUM", "AVERAGE", "MIN", "MAX"}},
      {"kernel_type", {"LINEAR", "POLY", "RBF", "SIGMOID"}},
      {"cast_to", {"TO_FLOAT", "TO_STRING", "TO_INT64"}},
      {"case_change_action", {"NONE", "LOWER", "UPPER"}},
      {"modes", {"LEAF", "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ"}},
      {"nodes_modes", {"LEAF", "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_EQ", "BRANCH_NEQ"}},
      {"map_form", {"DENSE", "SPARSE"}},
      {"pixel_format", {"RGB", "BGR", "Grayscale"}},
      {"output_type", {"DEFAULT"}},
  };
  return known;
}

std::string any_word(Choices& choices, std::string_view attribute) {
  if (choices.once_in(12)) return any_text(choices);
  for (const Words& words : known_words()) {
    if (words.attribute == attribute) return choices.pick(words.values);
  }
  return any_text(choices);
}

// As many as there are axes, spatial axes or ends of them, or any other number.
std::size_t any_count(Choices& choices, const Shape& usual) {
  const std::size_t spatial = usual.rank() < 2 ? 1 : usual.rank() - 2;
  const std::vector<std::size_t> likely{spatial, spatial, 2 * spatial, usual.rank(), 1};
  return choices.once_in(4) ? choices.below(6) : choices.pick(likely);
}

template <class Make>
auto several(Choices& choices, const Shape& usual, Make make) {
  std::vector<decltype(make())> result(any_count(choices, usual));
  for (auto& one : result) one = make();
  return result;
}

DType any_dtype(Choices& choices) {
  return static_cast<DType>(1 + choices.below(static_cast<std::size_t>(dtype_count) - 1));
}

}  // namespace

Attribute::Data any_data(Choices& choices, AttributeKind kind, std::string_view name,
                         const Shape& usual) {
  switch (kind) {
    case AttributeKind::real:
      return static_cast<float>(any_real(choices));
    case AttributeKind::integer:
      // A dtype where one is wanted.
      if (name == "to" || name == "dtype" || name.ends_with("_type") || name.ends_with("dtype")) {
        return static_cast<std::int64_t>(any_dtype(choices));
      }
      return any_integer(choices);
    case AttributeKind::string:
      return any_word(choices, name);
    case AttributeKind::tensor:
      return any_tensor(choices, any_dtype(choices), any_shape(choices, usual));
    case AttributeKind::reals:
      return several(choices, usual, [&] { return static_cast<float>(any_real(choices)); });
    case AttributeKind::integers:
      return several(choices, usual, [&] { return any_integer(choices); });
    case AttributeKind::strings:
      return several(choices, usual, [&] { return any_word(choices, name); });
    case AttributeKind::tensors:
      return several(choices, usual, [&] {
        return any_tensor(choices, any_dtype(choices), any_shape(choices, usual));
      });
    case AttributeKind::sparse_tensor: {
      graph::SparseTensorDef sparse;
      sparse.dims = any_shape(choices, usual);
      const auto n = static_cast<std::int64_t>(choices.below(4));
      sparse.values = any_tensor(choices, DType::float32, {n});
      sparse.indices = any_tensor(choices, DType::int64, {n});
      return sparse;
    }
    case AttributeKind::type: {
      graph::TypeDef type;
      type.kind = graph::TypeKind::tensor;
      type.dtype = any_dtype(choices);
      return type;
    }
    default:
      return {};
  }
}

Attribute any_attribute(Choices& choices, const graph::AttributeSpec& spec, const Shape& usual) {
  return {std::string(spec.name), any_data(choices, spec.kind, spec.name, usual)};
}

}  // namespace ondine::test
