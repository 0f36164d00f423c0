#include "tests/trainer/text/generate/small_decoder.h"

#include <cmath>
#include <vector>

#include "tests/support/random_tensor.h"

namespace ondine::test {
namespace {

using Ints = std::vector<std::int64_t>;

// Writes the nodes of one decoder.
class Writer {
 public:
  explicit Writer(const SmallDecoder& shape) : shape_(shape), b_("decoder") {}

  ModelBuilder write() {
    const ModelBuilder::Dim tokens =
        shape_.tokens > 0 ? ModelBuilder::Dim(shape_.tokens) : ModelBuilder::Dim("T");
    ids_ = b_.input("input_ids", DType::int64, {"N", tokens});
    if (shape_.mask) mask_ = b_.input("attention_mask", DType::int64, {"N", "S"});
    if (shape_.positions) positions_ = b_.input("position_ids", DType::int64, {"N", tokens});
    for (std::int64_t layer = 0; shape_.caches && layer < SmallDecoder::layers; ++layer) {
      for (const char* const kind : {"key", "value"}) {
        b_.input(name(shape_.past, layer, kind), DType::float32,
                 {"N", SmallDecoder::heads, "P", SmallDecoder::size});
      }
    }
    measure();
    std::string x = b_.node("Gather", {weight({shape_.vocabulary, SmallDecoder::width}), ids_});
    const std::string places = weight({256, SmallDecoder::width});
    if (!shape_.rotary) x = b_.node("Add", {x, b_.node("Gather", {places, positions_})});
    if (shape_.centers) x = b_.node("Sub", {x, b_.node("ReduceMean", {x}, {{"axes", Ints{1}}})});
    for (std::int64_t layer = 0; layer < SmallDecoder::layers; ++layer) x = add_layer(x, layer);
    b_.node("MatMul", {x, weight({SmallDecoder::width, shape_.vocabulary})}, {}, "logits");
    b_.output("logits", DType::float32, {"N", tokens, shape_.vocabulary});
    for (std::int64_t layer = 0; shape_.caches && layer < SmallDecoder::layers; ++layer) {
      for (const char* const kind : {"key", "value"}) {
        b_.output(name(shape_.present, layer, kind), DType::float32,
                  {"N", SmallDecoder::heads, "all", SmallDecoder::size});
      }
    }
    return std::move(b_);
  }

 private:
  static std::string name(const std::string& pattern, std::int64_t layer, const std::string& kind) {
    std::string result = pattern;
    result.replace(result.find('%'), 1, std::to_string(layer));
    if (const std::size_t at = result.rfind("key"); at != std::string::npos) {
      result.replace(at, 3, kind);
    }
    return result;
  }

  std::string ints(const Ints& values) {
    return constant(Tensor::of(Shape{std::ssize(values)}, values));
  }
  std::string constant(const Tensor& value) {
    return b_.initializer("c" + std::to_string(++constants_), value);
  }
  std::string weight(const Shape& shape) {
    const float size = 2 / std::sqrt(static_cast<float>(shape[0]));
    return constant(random_floats(shape, ++weights_, -size, size));
  }
  std::string dim(const std::string& x, std::int64_t axis) {
    return b_.node("Gather", {b_.node("Shape", {x}), constant(Tensor::scalar(axis))});
  }

  // Positions, and what is added to scores.
  void measure() {
    const std::string zero = constant(Tensor::scalar(std::int64_t{0}));
    const std::string one = constant(Tensor::scalar(std::int64_t{1}));
    const std::string steps = dim(shape_.measures_mask ? mask_ : ids_, 1);
    const std::string past = shape_.caches ? dim(name(shape_.past, 0, "key"), 2) : zero;
    const std::string total = b_.node("Add", {past, steps});
    const std::string queries = b_.node("Range", {past, total, one});
    if (!shape_.positions) positions_ = b_.node("Unsqueeze", {queries, ints({0})});
    if (shape_.counts_down) positions_ = b_.node("Sub", {steps, positions_});
    std::string rows = b_.node("Unsqueeze", {queries, ints({1})});
    if (shape_.sees_all) rows = total;
    if (shape_.mixes_new_tokens) {
      rows = b_.node("Where", {b_.node("Greater", {past, zero}), total, rows});
    }
    const std::string keys = b_.node("Range", {zero, total, one});
    std::string seen = b_.node("LessOrEqual", {keys, rows});
    if (shape_.window > 0) {
      const std::string first = b_.node("Sub", {rows, constant(Tensor::scalar(shape_.window))});
      seen = b_.node("And", {seen, b_.node("Greater", {keys, first})});
    }
    if (shape_.mask) {
      const std::string given = b_.node("Cast", {mask_}, {{"to", std::int64_t{9}}});
      const std::string open = b_.node("Unsqueeze", {given, ints({1, 2})});
      const std::string all =
          shape_.ignores_mask ? b_.node("Or", {open, b_.node("Not", {open})}) : open;
      seen = b_.node("And", {seen, all});
    }
    bias_ =
        b_.node("Where", {seen, constant(Tensor::scalar(0.0F)), constant(Tensor::scalar(-1e9F))});
  }

  std::string to_heads(const std::string& x) {
    const std::string split =
        b_.node("Reshape", {x, ints({0, 0, SmallDecoder::heads, SmallDecoder::size})});
    return b_.node("Transpose", {split}, {{"perm", Ints{0, 2, 1, 3}}});
  }

  // Turns halves of each head by the position.
  std::string turn(const std::string& x) {
    if (!shape_.rotary) return x;
    const std::int64_t half = SmallDecoder::size / 2;
    Tensor rates(DType::float32, {half});
    for (std::int64_t i = 0; i < half; ++i) {
      rates.mutable_values<float>()[static_cast<std::size_t>(i)] =
          std::pow(100.0F, -static_cast<float>(i) / static_cast<float>(half));
    }
    const std::string at = b_.node("Cast", {positions_}, {{"to", std::int64_t{1}}});
    const std::string angle =
        b_.node("Mul", {b_.node("Unsqueeze", {at, ints({1, 3})}), constant(rates)});
    const std::string sin = b_.node("Sin", {angle});
    const std::string cos = b_.node("Cos", {angle});
    const auto part = [&](std::int64_t from) {
      return b_.node("Slice", {x, ints({from}), ints({from + half}), ints({3})});
    };
    const std::string a = part(0);
    const std::string c = part(half);
    const auto product = [&](const std::string& p, const std::string& q) {
      return b_.node("Mul", {p, q});
    };
    return b_.node("Concat",
                   {b_.node("Sub", {product(a, cos), product(c, sin)}),
                    b_.node("Add", {product(c, cos), product(a, sin)})},
                   {{"axis", std::int64_t{3}}});
  }

  std::string cached(const std::string& x, std::int64_t layer, const std::string& kind) {
    if (!shape_.caches) return x;
    return b_.node("Concat", {name(shape_.past, layer, kind), x}, {{"axis", std::int64_t{2}}},
                   name(shape_.present, layer, kind));
  }

  std::string add_layer(const std::string& x, std::int64_t layer) {
    const Shape square{SmallDecoder::width, SmallDecoder::width};
    const auto project = [&] { return to_heads(b_.node("MatMul", {x, weight(square)})); };
    const std::string q = turn(project());
    const std::string k = cached(turn(project()), layer, "key");
    const std::string v = cached(project(), layer, "value");
    const std::string turned = b_.node("Transpose", {k}, {{"perm", Ints{0, 1, 3, 2}}});
    const std::string scores = b_.node(
        "Div", {b_.node("MatMul", {q, turned}),
                constant(Tensor::scalar(std::sqrt(static_cast<float>(SmallDecoder::size))))});
    const std::string shares =
        b_.node("Softmax", {b_.node("Add", {scores, bias_})}, {{"axis", std::int64_t{3}}});
    const std::string seen =
        b_.node("Transpose", {b_.node("MatMul", {shares, v})}, {{"perm", Ints{0, 2, 1, 3}}});
    std::string dims = ints({0, 0, SmallDecoder::width});
    if (shape_.measures_mask) {
      dims = b_.node("Concat", {b_.node("Shape", {mask_}), ints({SmallDecoder::width})},
                     {{"axis", std::int64_t{0}}});
    }
    const std::string joined = b_.node("Reshape", {seen, dims});
    const std::string y = b_.node("Add", {x, b_.node("MatMul", {joined, weight(square)})});
    const std::string hidden = b_.node("Relu", {b_.node("MatMul", {y, weight(square)})});
    return b_.node("Add", {y, b_.node("MatMul", {hidden, weight(square)})});
  }

  SmallDecoder shape_;
  ModelBuilder b_;
  std::string ids_, mask_, positions_, bias_;
  std::uint64_t weights_ = 0;
  int constants_ = 0;
};

}  // namespace

ModelBuilder SmallDecoder::builder() const { return Writer(*this).write(); }

Model SmallDecoder::model(const LoadOptions& options) const {
  return Model::load(builder().bytes(), options);
}

}  // namespace ondine::test
