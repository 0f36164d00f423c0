// Several texts in one row train as a row for each.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>

#include <ondine/build.h>
#include <ondine/error.h>
#include <ondine/import_hugging_face.h>
#include <ondine/prepare.h>

#include "tests/support/hugging_face_folder.h"
#include "tests/support/random_tensor.h"

namespace ondine::test {
namespace {

using Catch::Matchers::Contains;
using Ids = std::vector<std::int64_t>;
using Row = std::vector<Ids>;  // of texts

constexpr std::int64_t classes = 19;
constexpr std::int64_t width = 8;
constexpr std::int64_t heads = 2;
constexpr std::int64_t most_tokens = 32;

PrepareOptions options() {
  PrepareOptions options;
  options.init = WeightInit::keep;
  options.ignore_index = -100;
  options.optimizer = Sgd{.learning_rate = 0.5F};
  options.packing = true;
  return options;
}

Tensor matrix(const std::vector<Ids>& rows) {
  Ids all;
  for (const Ids& row : rows) all.insert(all.end(), row.begin(), row.end());
  return Tensor::of<std::int64_t>({std::ssize(rows), std::ssize(rows[0])}, all);
}

// Texts of these lengths, whose ids are below `most`.
Row texts(const Ids& lengths, std::int64_t most) {
  Row result;
  std::int64_t state = 5;
  for (const std::int64_t length : lengths) {
    Ids& text = result.emplace_back();
    for (std::int64_t i = 0; i < length; ++i) {
      state = (state * 1103515245 + 12345) % (std::int64_t{1} << 31);
      text.push_back((state >> 16) % most);
    }
  }
  return result;
}

// A label for each id: one of the text itself, so that it does not depend on what is beside it.
std::int64_t label_of(const Ids& text, std::size_t i, std::int64_t most) {
  return (text[i] + 2 * text[(i + 1) % text.size()]) % most;
}

// Every row as long as `length`; labels of padding do not count.
NamedValues feeds_of(const Model& model, const std::vector<Row>& rows, std::int64_t length,
                     std::int64_t most) {
  const auto size = static_cast<std::size_t>(length);
  std::vector<Ids> ids, labels, segments, mask, positions;
  for (const Row& row : rows) {
    for (auto* all : {&ids, &labels, &segments, &mask, &positions}) all->emplace_back();
    for (std::size_t text = 0; text < row.size(); ++text) {
      for (std::size_t i = 0; i < row[text].size(); ++i) {
        ids.back().push_back(row[text][i]);
        labels.back().push_back(label_of(row[text], i, most));
        segments.back().push_back(static_cast<std::int64_t>(text));
        mask.back().push_back(1);
      }
    }
    ids.back().resize(size, 0);
    labels.back().resize(size, -100);
    segments.back().resize(size, static_cast<std::int64_t>(row.size()) - 1);
    mask.back().resize(size, 0);
    for (std::int64_t i = 0; i < length; ++i) positions.back().push_back(i);
  }
  NamedValues feeds;
  for (const PortInfo& input : model.algorithm(0).inputs) {
    if (input.has_default) continue;
    if (input.name == "label") feeds.emplace_back(input.name, matrix(labels));
    if (input.name == "input_ids") feeds.emplace_back(input.name, matrix(ids));
    if (input.name == "segment_ids") feeds.emplace_back(input.name, matrix(segments));
    if (input.name == "attention_mask") feeds.emplace_back(input.name, matrix(mask));
    if (input.name == "position_ids") feeds.emplace_back(input.name, matrix(positions));
    if (input.name.starts_with("past")) {
      const auto& dims = *input.dims;
      feeds.emplace_back(input.name,
                         Tensor(DType::float32, {std::ssize(rows), dims[1], 0, dims[3]}));
    }
  }
  return feeds;
}

// Losses and gradients of texts that share rows are those of a row for each text.
void check_packed(const Model& model, std::int64_t most, std::int64_t length = 12) {
  const Row all = texts({5, 4, 3, 6, 2}, most);
  std::vector<Row> alone;
  for (const Ids& text : all) alone.push_back({text});
  const std::vector<Row> packed{{all[0], all[1], all[2]}, {all[3], all[4]}};
  const NamedValues a = feeds_of(model, packed, length, most);
  const NamedValues b = feeds_of(model, alone, length, most);
  const Results x = model.gradients(a);
  const Results y = model.gradients(b);
  REQUIRE(x.size() == y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    INFO(x[i].first);
    const auto p = x[i].second.tensor().values<float>();
    const auto q = y[i].second.tensor().values<float>();
    REQUIRE(p.size() == q.size());
    double largest = 0;
    double far = 0;
    for (std::size_t k = 0; k < p.size(); ++k) {
      largest = std::max(largest, std::abs(double{q[k]}));
      far = std::max(far, std::abs(double{p[k]} - double{q[k]}));
    }
    CHECK(far <= 1e-5 * largest + 1e-9);
  }
  // Without segments the texts read each other.
  NamedValues blurred = a;
  for (auto& [name, value] : blurred) {
    if (name == "segment_ids") value = Tensor(DType::int64, value.tensor().shape());
  }
  const auto loss = [&](const NamedValues& feeds) {
    return double{model.eval_step(feeds)["loss"].tensor().item<float>()};
  };
  CHECK(std::abs(loss(a) - loss(b)) <= 1e-5 * std::abs(loss(b)));
  CHECK(std::abs(loss(blurred) - loss(b)) > 1e-5 * std::abs(loss(b)));
}

enum class Positions { none, range, sums, constant, slice };
struct Form {
  Positions positions = Positions::range;
  bool merged_heads = false;  // scores [N heads, T, T]
  bool masked_by_where = false;
  std::string segments = {};  // the name of a value
};

// A network of one layer as exporters write them, with a causal mask.
class Exported {
 public:
  explicit Exported(const Form& form) : form_(form), b_("net") {
    const ModelBuilder::Dim tokens = form.positions == Positions::constant
                                         ? ModelBuilder::Dim(std::int64_t{12})
                                         : ModelBuilder::Dim("T");
    ids_ = b_.input("input_ids", DType::int64, {"N", tokens});
    if (form.positions == Positions::sums) {
      mask_ = b_.input("attention_mask", DType::int64, {"N", "T"});
    }
    std::string x = b_.node("Gather", {weight("tokens", {classes, width}), ids_});
    if (form.positions != Positions::none) x = b_.node("Add", {x, positions()});
    x = b_.node("Add", {x, attention(x)});
    if (!form.segments.empty()) x = b_.node("Identity", {x}, {}, form.segments);
    b_.node("MatMul", {x, weight("head", {width, classes})}, {}, "logits");
    b_.output("logits", DType::float32, {"N", tokens, classes});
  }

  std::vector<std::byte> bytes() const { return b_.bytes(); }

 private:
  std::string weight(const std::string& name, const Shape& shape) {
    return b_.initializer(name, random_floats(shape, ++seed_, -0.7F, 0.7F));
  }
  std::string integers(const Ids& values) {
    return b_.initializer("integers" + std::to_string(++constants_),
                          Tensor::of<std::int64_t>({std::ssize(values)}, values));
  }
  std::string integer(std::int64_t value) {
    return b_.initializer("integer" + std::to_string(++constants_), Tensor::scalar(value));
  }
  std::string length() { return b_.node("Gather", {b_.node("Shape", {ids_}), integer(1)}); }
  std::string count() { return b_.node("Range", {integer(0), length(), integer(1)}); }

  std::string positions() {
    const std::string table = weight("positions", {most_tokens, width});
    switch (form_.positions) {
      case Positions::range:
        return b_.node("Gather", {table, b_.node("Unsqueeze", {count(), integers({0})})});
      case Positions::sums:
        return b_.node("Gather", {table, b_.node("CumSum", {mask_, integer(1)})});
      case Positions::constant: {
        Ids all(12);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
        return b_.node("Gather", {table, integers(all)});
      }
      default:
        return b_.node("Slice", {table, integers({0}),
                                 b_.node("Unsqueeze", {length(), integers({0})}), integers({0})});
    }
  }

  std::string by_heads(const std::string& x, const char* name, bool turned) {
    const std::string rows = b_.node("MatMul", {x, weight(name, {width, width})});
    const std::string split = b_.node("Reshape", {rows, integers({0, 0, heads, width / heads})});
    const Ids order = turned ? Ids{0, 2, 3, 1} : Ids{0, 2, 1, 3};
    const std::string y = b_.node("Transpose", {split}, {{"perm", order}});
    if (!form_.merged_heads) return y;
    const std::string dims =
        turned ? b_.node("Concat", {integers({-1, width / heads}), one(length())},
                         {{"axis", std::int64_t{0}}})
               : b_.node("Concat", {integers({-1}), one(length()), integers({width / heads})},
                         {{"axis", std::int64_t{0}}});
    return b_.node("Reshape", {y, dims});
  }
  std::string one(const std::string& scalar) {
    return b_.node("Unsqueeze", {scalar, integers({0})});
  }

  std::string attention(const std::string& x) {
    const std::string number = b_.initializer("scale", Tensor::scalar(0.5F));
    const std::string least = b_.initializer("least", Tensor::scalar(-3.4e38F));
    const std::string zero = b_.initializer("zero", Tensor::scalar(0.0F));
    std::string scores = b_.node(
        "Mul", {b_.node("MatMul", {by_heads(x, "q", false), by_heads(x, "k", true)}), number});
    const std::string seen =
        b_.node("LessOrEqual", {count(), b_.node("Unsqueeze", {count(), integers({1})})});
    scores = form_.masked_by_where
                 ? b_.node("Where", {seen, scores, least})
                 : b_.node("Add", {scores, b_.node("Where", {seen, zero, least})});
    std::string weights = b_.node("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
    if (form_.masked_by_where) {  // as PyTorch writes it
      weights = b_.node("Where", {b_.node("IsNaN", {weights}), zero, weights});
    }
    std::string y = b_.node("MatMul", {weights, by_heads(x, "v", false)});
    if (form_.merged_heads) {
      const std::string dims =
          b_.node("Concat", {integers({-1, heads}), one(length()), integers({width / heads})},
                  {{"axis", std::int64_t{0}}});
      y = b_.node("Reshape", {y, dims});
    }
    y = b_.node("Transpose", {y}, {{"perm", Ids{0, 2, 1, 3}}});
    y = b_.node("Reshape", {y, integers({0, 0, width})});
    return b_.node("MatMul", {y, weight("o", {width, width})});
  }

  Form form_;
  ModelBuilder b_;
  std::string ids_;
  std::string mask_;
  std::uint64_t seed_ = 0;
  int constants_ = 0;
};

std::string refusal(const std::vector<std::byte>& bytes, const PrepareOptions& asked = options()) {
  try {
    prepare(bytes, asked);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("packed rows of imported decoders train as a row for each text") {
  for (const char* name : {"gpt2", "llama", "mistral", "gemma3", "qwen3", "phi3"}) {
    for (const bool cache : {false, true}) {
      CAPTURE(name, cache);
      HuggingFaceFolder folder(name);
      // Larger than drawn, so that tokens matter to each other.
      for (NamedTensor& one : folder.weights().tensors) {
        if (one.value.shape().rank() < 2) continue;
        for (float& weight : one.value.mutable_values<float>()) weight *= 2;
      }
      folder.write();
      import_hugging_face(folder.path(), folder / "net.onnx", {.cache = cache});
      const Model model = prepare(folder / "net.onnx", options());
      const std::int64_t most = model.outputs()[0].dims->back();
      check_packed(model, most);
    }
  }
}

TEST_CASE("packed rows of exported forms of attention train as a row for each text") {
  for (const bool merged : {false, true}) {
    for (const bool where : {false, true}) {
      for (const Positions positions :
           {Positions::none, Positions::range, Positions::sums, Positions::constant}) {
        CAPTURE(merged, where, static_cast<int>(positions));
        const Exported net(
            {.positions = positions, .merged_heads = merged, .masked_by_where = where});
        check_packed(prepare(net.bytes(), options()), classes);
      }
    }
  }
}

TEST_CASE("a model that rounds products is tried out without rounding") {
  LoadOptions load;
  load.precision = Precision::bfloat16;
  CHECK_NOTHROW(prepare(Exported({}).bytes(), options(), load));
}

TEST_CASE("packing leaves the inference of a model as it is") {
  const Exported net({});
  const Model model = prepare(net.bytes(), options());
  CHECK(model.inputs().size() == 1);
  const NamedValues feeds{{"input_ids", matrix({{1, 2, 3}})}};
  CHECK(model.infer(feeds)[0].second.tensor().identical(
      Model::load(net.bytes()).infer(feeds)[0].second.tensor()));
}

TEST_CASE("attention within texts is fused as that of whole rows") {
  if (std::getenv("ONDINE_NO_FUSION") != nullptr) return;
  const auto check = [](const Model& model) {
    const std::string text = model.inspect("optimized");
    CHECK(text.find("AttentionGrad-") != std::string::npos);
    CHECK(text.find(" Softmax-") == std::string::npos);
  };
  check(prepare(Exported({.positions = Positions::constant}).bytes(), options()));
  for (const char* name : {"gpt2", "mistral"}) {
    const HuggingFaceFolder folder(name);
    import_hugging_face(folder.path(), folder / "net.onnx", {});
    check(prepare(folder / "net.onnx", options()));
  }
}

TEST_CASE("packing is refused where texts of a row would read each other") {
  CHECK_THAT(refusal(Exported({.positions = Positions::slice}).bytes()),
             Contains("rows of several texts give other scores than a row for each"));
  CHECK_THAT(refusal(Exported({.segments = "segment_ids"}).bytes()),
             Contains("the model has a value 'segment_ids' already"));
  const auto sums_of_rows = [](std::int64_t opset) {
    ModelBuilder sums("sums", opset);
    const std::string ids = sums.input("input_ids", DType::int64, {"N", "T"});
    const std::string table = sums.initializer("table", random_floats({classes, width}, 1));
    const std::string axis = sums.initializer("axis", Tensor::scalar(std::int64_t{1}));
    const std::string head = sums.initializer("head", random_floats({width, classes}, 2));
    const std::string all = sums.node("CumSum", {sums.node("Gather", {table, ids}), axis});
    sums.node("MatMul", {all, head}, {}, "logits");
    sums.output("logits", DType::float32, {"N", "T", classes});
    return sums.bytes();
  };
  CHECK_THAT(refusal(sums_of_rows(17)), Contains("no attention is recognized"));
  CHECK_THAT(refusal(sums_of_rows(12)), Contains("packing needs ai.onnx 13"));
}

TEST_CASE("packing excludes what has another meaning for rows of several texts") {
  PrepareOptions prompt = options();
  prompt.prompt = PromptTuning{};
  CHECK_THAT(refusal(Exported({}).bytes(), prompt), Contains("which excludes packing"));
}

}  // namespace ondine::test
