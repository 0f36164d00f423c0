// Attention whose masks exporters compose: biases of positions that several layers add, masks that
// are expanded to all heads, numbers in the place of hidden scores, heads merged into the samples.
#include <catch2/catch.hpp>
#include <filesystem>

#include <ondine/model.h>
#include <ondine/prepare.h>

#include "tests/support/form_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text.h"

namespace ondine::test {
namespace {

using Int64s = std::vector<std::int64_t>;
constexpr std::int64_t samples = 3, steps = 5, heads = 2, size = 4, width = heads * size;
constexpr double lowest = -3.4028234663852886e38;

// Where the model adds its masks.
enum class Adds {
  sum,       // T5: the sum of bias and mask, which all layers add
  expanded,  // MPNet: the bias is expanded to all samples before
  choice,    // T5 with sdpa: the number stands in the place of the bias
  each,      // bias and mask are added to the scores one after the other
  product,   // GPT-Neo: a number stands in the place of scores, then the mask is added
  whole      // DeBERTa: a number stands in the place of scores to which the bias was added
};

struct Form {
  Adds adds = Adds::sum;
  bool trained = true;        // whether the bias is a parameter
  bool samples_apart = true;  // whether the mask differs from sample to sample
  bool merged = false;        // BLOOM: products of samples x heads, the mask added to both apart
  bool bias_per_key = false;  // one row for all queries, as ALiBi
  double fill = lowest;
  bool fill_first = false;    // Where(hidden, number, x) instead of Where(seen, x, number)
  bool read_twice = false;    // the first layer's scores are an output, too
  bool other_number = false;  // the number is a tensor of two
  bool turned = false;        // merged weights are transposed before they weigh the values
};

class Composer {
 public:
  explicit Composer(const Form& form) : form_(form), w_(18) {}

  FormWriter& writer() { return w_; }

  void write() {
    std::string x = x_ =
        w_.input("x", {"N", "T", width}, random_floats({samples, steps, width}, 1));
    Tensor keep(DType::int64, {samples, steps});
    for (std::int64_t i = 0; i < keep.size(); ++i) {
      keep.mutable_values<std::int64_t>()[static_cast<std::size_t>(i)] = i % 7 != 4;
    }
    keep_ = w_.input("keep", {"N", "T"}, keep);
    seen_ = seen();
    mask_ = w_.op("Where", {seen_, w_.number(0), w_.number(lowest)});
    if (form_.adds != Adds::product) bias_ = bias();
    shared_ = shared();
    for (int layer = 0; layer < 2; ++layer) x = w_.op("Add", {x, attention(x)});
    w_.builder().output(x, DType::float32, {"N", "T", width});
  }

 private:
  std::string weights() {
    const std::uint64_t i = ++count_;
    return w_.builder().initializer("w" + std::to_string(i),
                                    random_floats({width, width}, 10 + i, -0.5F, 0.5F));
  }
  std::string size_of(std::int64_t axis) {
    const std::string at = w_.constant(Tensor::scalar(axis));
    const std::string dim = w_.op("Gather", {w_.op("Shape", {x_}), at});
    return w_.op("Unsqueeze", {dim, w_.integers({0})});
  }
  std::string joined(std::vector<std::string> sizes) {
    return w_.op("Concat", std::move(sizes), {{"axis", std::int64_t{0}}});
  }
  std::string number(double value) {
    if (!form_.other_number) return w_.number(value);
    return w_.constant(Tensor::of<float>({1, heads, 1, 1}, {static_cast<float>(value), -1e3F}));
  }
  // `x` where a query sees a key, the number elsewhere.
  std::string filled(const std::string& x) {
    if (!form_.fill_first) return w_.op("Where", {seen_, x, number(form_.fill)});
    return w_.op("Where", {w_.op("Not", {seen_}), number(form_.fill), x});
  }

  // N or 1, 1, T, T
  std::string seen() {
    const std::string end = w_.op("Squeeze", {size_of(1), w_.integers({0})});
    const std::string first = w_.constant(Tensor::scalar(std::int64_t{0}));
    const std::string one = w_.constant(Tensor::scalar(std::int64_t{1}));
    const std::string at = w_.op("Range", {first, end, one});
    const std::string causal =
        w_.op("LessOrEqual", {at, w_.op("Unsqueeze", {at, w_.integers({1})})});
    const std::string kept = w_.op("Cast", {keep_}, {{"to", std::int64_t{9}}});
    return form_.samples_apart
               ? w_.op("And", {causal, w_.op("Unsqueeze", {kept, w_.integers({1, 2})})})
               : w_.op("Unsqueeze", {causal, w_.integers({0, 1})});
  }
  // 1, heads, T, T by positions; N, heads, 1, T where it is one row for all queries.
  std::string bias() {
    const std::string end = w_.op("Squeeze", {size_of(1), w_.integers({0})});
    const std::string first = w_.constant(Tensor::scalar(std::int64_t{0}));
    const std::string one = w_.constant(Tensor::scalar(std::int64_t{1}));
    const std::string at = w_.op("Range", {first, end, one});
    const Tensor table = random_floats({2 * steps, heads}, 3);
    if (form_.bias_per_key) {
      const std::string slopes = w_.constant(random_floats({heads, 1}, 3));
      const std::string places =
          w_.op("Cast", {w_.op("Unsqueeze", {keep_, w_.integers({1})})}, {{"to", std::int64_t{1}}});
      const std::string each = w_.op("Mul", {slopes, places});  // N, heads, T
      if (!form_.merged) return w_.op("Unsqueeze", {each, w_.integers({2})});
      return w_.op("Reshape", {each, joined({merged_count(), w_.integers({1}), size_of(1)})});
    }
    const std::string apart = w_.op("Sub", {w_.op("Unsqueeze", {at, w_.integers({1})}), at});
    const std::string index =
        w_.op("Add", {apart, w_.constant(Tensor::scalar(std::int64_t{steps}))});
    const std::string values =
        form_.trained ? w_.builder().initializer("w_bias", table) : w_.constant(table);
    const std::string by_head =
        w_.op("Transpose", {w_.op("Gather", {values, index})}, {{"perm", Int64s{2, 0, 1}}});
    return w_.op("Unsqueeze", {by_head, w_.integers({0})});
  }
  std::string shared() {
    switch (form_.adds) {
      case Adds::sum:
        return w_.op("Add", {bias_, mask_});
      case Adds::expanded: {
        const std::string shape =
            joined({size_of(0), w_.integers({heads}), size_of(1), size_of(1)});
        return w_.op("Add", {w_.op("Expand", {bias_, shape}), mask_});
      }
      case Adds::choice:
        return filled(bias_);
      default:
        return {};
    }
  }

  std::string merged_count() { return w_.op("Mul", {size_of(0), w_.integers({heads})}); }
  std::string in_heads(const std::string& x) {
    const std::string shape =
        joined({size_of(0), size_of(1), w_.integers({heads}), w_.integers({size})});
    return w_.op("Transpose", {w_.op("Reshape", {w_.op("MatMul", {x, weights()}), shape})},
                 {{"perm", Int64s{0, 2, 1, 3}}});
  }
  std::string masked(std::string scores) {
    switch (form_.adds) {
      case Adds::each:
        return w_.op("Add", {w_.op("Add", {scores, bias_}), mask_});
      case Adds::product:
        return w_.op("Add", {filled(scores), mask_});
      case Adds::whole:
        return filled(w_.op("Add", {scores, bias_}));
      default:
        return w_.op("Add", {scores, shared_});
    }
  }
  std::string attention(const std::string& x) {
    const std::string y = form_.merged ? merged_heads(x) : separate_heads(x);
    const std::string rows = w_.op("Transpose", {y}, {{"perm", Int64s{0, 2, 1, 3}}});
    const std::string flat = w_.op("Reshape", {rows, w_.integers({0, 0, width})});
    return w_.op("MatMul", {flat, weights()});
  }
  std::string separate_heads(const std::string& x) {
    const std::string q = in_heads(x);
    const std::string k = w_.op("Transpose", {in_heads(x)}, {{"perm", Int64s{0, 1, 3, 2}}});
    const std::string scores = masked(w_.op("MatMul", {q, k}));
    read_twice(scores);
    return w_.op("MatMul", {w_.op("Softmax", {scores}, {{"axis", std::int64_t{-1}}}), in_heads(x)});
  }
  std::string merged_heads(const std::string& x) {
    const auto one = [&](const std::string& from, std::vector<std::string> rest) {
      rest.insert(rest.begin(), merged_count());
      return w_.op("Reshape", {from, joined(std::move(rest))});
    };
    const std::vector<std::string> rows{size_of(1), w_.integers({size})};
    const std::string q = one(in_heads(x), rows);
    const std::string k = w_.op("Transpose", {one(in_heads(x), rows)}, {{"perm", Int64s{0, 2, 1}}});
    const std::string v = one(in_heads(x), rows);
    std::string scores = w_.op("Mul", {w_.op("MatMul", {q, k}), w_.number(0.5)});
    scores = w_.op("Add", {scores, w_.op("Mul", {bias_, w_.number(1)})});
    const auto apart = [&](const std::string& from, std::vector<std::string> rest) {
      std::vector<std::string> sizes{size_of(0), w_.integers({heads})};
      sizes.insert(sizes.end(), rest.begin(), rest.end());
      return w_.op("Reshape", {from, joined(std::move(sizes))});
    };
    const std::vector<std::string> square{size_of(1), size_of(1)};
    std::string view = w_.op("Add", {apart(scores, square), mask_});
    read_twice(view);
    std::string p = one(w_.op("Softmax", {view}, {{"axis", std::int64_t{-1}}}), square);
    if (form_.turned) p = w_.op("Transpose", {p}, {{"perm", Int64s{0, 2, 1}}});
    return apart(w_.op("MatMul", {p, v}), rows);
  }
  void read_twice(const std::string& scores) {
    if (form_.read_twice && !was_read_) w_.named_output(scores, {"N", heads, "T", "T"});
    was_read_ = true;
  }

  Form form_;
  FormWriter w_;
  std::string x_, keep_, seen_, mask_, bias_, shared_;
  std::uint64_t count_ = 0;
  bool was_read_ = false;
};

std::size_t attentions(const Form& form) {
  Composer c(form);
  c.write();
  return c.writer().count("ScaledAttention-");
}

struct Trained {
  std::string text;
  std::vector<float> parameters;
};

Trained trained(const Form& form, const LoadOptions& options) {
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  Composer c(form);
  c.write();
  c.writer().builder().save(file);
  PrepareOptions prepare_options;
  prepare_options.loss = Loss::mse;
  prepare_options.train = {"w*"};
  prepare_options.optimizer = Sgd{.learning_rate = 0.1F};
  prepare(file, file, prepare_options);
  Model model = Model::load(file, options);
  NamedValues batch = c.writer().feeds();
  batch.emplace_back("label", random_floats({samples, steps, width}, 5));
  for (int step = 0; step < 3; ++step) model.train_step(batch);
  return {model.inspect("optimized"), model.parameters()};
}

const Form bloom{.adds = Adds::each, .trained = false, .merged = true, .bias_per_key = true};

}  // namespace

TEST_CASE("masks that exporters compose become operands of attention") {
  if (!fusions_run()) return;
  for (const Adds adds :
       {Adds::sum, Adds::expanded, Adds::choice, Adds::each, Adds::product, Adds::whole}) {
    INFO(static_cast<int>(adds));
    CHECK(attentions({.adds = adds}) == 2);
    CHECK(attentions({.adds = adds, .trained = false}) == 2);
    CHECK(attentions({.adds = adds, .samples_apart = false}) == 2);
    CHECK(attentions({.adds = adds, .bias_per_key = true}) == 2);
  }
  for (const Adds adds : {Adds::choice, Adds::product, Adds::whole}) {
    CHECK(attentions({.adds = adds, .fill = -1e9}) == 2);
    CHECK(attentions({.adds = adds, .fill_first = true}) == 2);
  }
  CHECK(attentions(bloom) == 2);
}

TEST_CASE("composed masks that differ from the exported forms in one place stay as they are") {
  if (!fusions_run()) return;
  CHECK(attentions({.adds = Adds::each, .read_twice = true}) == 1);
  CHECK(attentions({.adds = Adds::product, .fill = 0}) == 0);
  CHECK(attentions({.adds = Adds::product, .other_number = true}) == 0);
  CHECK(attentions({.adds = Adds::whole, .other_number = true}) == 0);
  CHECK(attentions({.adds = Adds::whole, .fill = 0}) == 0);
  Form turned = bloom;
  turned.turned = true;
  CHECK(attentions(turned) == 0);
  Form read_twice = bloom;
  read_twice.read_twice = true;
  CHECK(attentions(read_twice) == 1);
  // The bias is added whole where no one number stands in its place.
  for (const Form& form :
       {Form{.adds = Adds::choice, .fill = 0}, Form{.adds = Adds::choice, .other_number = true}}) {
    Composer c(form);
    c.write();
    CHECK(c.writer().count("replaces") == 0);
    CHECK(c.writer().count("ScaledAttention-") == 2);
  }
}

TEST_CASE("attention with composed masks trains as its own nodes do, and keeps no scores") {
  std::vector<Form> forms{bloom};
  for (const Adds adds :
       {Adds::sum, Adds::expanded, Adds::choice, Adds::each, Adds::product, Adds::whole}) {
    forms.push_back({.adds = adds});
    forms.push_back({.adds = adds, .fill = -1e9, .fill_first = true});
  }
  for (const Form& form : forms) {
    INFO(static_cast<int>(form.adds) << ", merged " << form.merged);
    const auto own = trained(form, {.no_fusion = fusions_from_name("all")});
    const auto fused = trained(form, {});
    REQUIRE(fused.parameters.size() == own.parameters.size());
    for (std::size_t i = 0; i < own.parameters.size(); ++i) {
      CHECK(fused.parameters[i] == Approx(own.parameters[i]).epsilon(1e-5).margin(1e-5));
    }
    if (!fusions_run()) continue;
    INFO(fused.text);
    CHECK(count(fused.text, "ScaledAttentionGrad-") == 2);
    CHECK(count(fused.text, "Softmax") == 0);
    CHECK(count(own.text, "tensor(float)[N, 2, T, T]") > 0);
    CHECK(count(fused.text, "tensor(float)[N, 2, T, T]") == 0);
    CHECK(count(fused.text, "tensor(float)[2*N, T, T]") == 0);
  }
}

}  // namespace ondine::test
