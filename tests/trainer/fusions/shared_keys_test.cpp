// Heads of keys that exporters repeat for the heads of queries that share them, and capped scores.
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
constexpr std::int64_t samples = 3, steps = 5, heads = 4, size = 4, width = heads * size;

struct Form {
  std::int64_t key_heads = 2;
  bool by_reshape = false;      // the new axis comes from a Reshape, not from an Unsqueeze
  bool others_first = false;    // repeated as 0, 1, 0, 1 in place of 0, 0, 1, 1
  bool values_repeated = true;  // else there are as many heads of values as of queries
  bool read_twice = false;      // the repeated keys are an output, too
  bool turned = false;          // rows of the repeated keys are mixed with their heads
  double cap = 0;               // of scores
  double inside = 0;            // what scores are divided by where they are capped; 0: the cap
  bool masked_before = false;   // the mask is added before the cap
  const char* curve = "Tanh";
  bool cap_of_heads = false;  // a cap of each head
};

class Composer {
 public:
  explicit Composer(const Form& form) : form_(form), w_(18) {}

  FormWriter& writer() { return w_; }

  void write() {
    x_ = w_.input("x", {"N", "T", width}, random_floats({samples, steps, width}, 1));
    const std::string q = in_heads(heads);
    const std::string k = repeated(in_heads(form_.key_heads));
    if (form_.read_twice) w_.named_output(k, {"N", heads, "T", size});
    const std::string v =
        form_.values_repeated ? repeated(in_heads(form_.key_heads)) : in_heads(heads);
    const std::string turned = w_.op("Transpose", {k}, {{"perm", Int64s{0, 1, 3, 2}}});
    std::string scores = w_.op("Mul", {w_.op("MatMul", {q, turned}), w_.number(0.5)});
    if (form_.masked_before) scores = w_.op("Add", {scores, mask()});
    scores = capped(scores);
    if (!form_.masked_before) scores = w_.op("Add", {scores, mask()});
    const std::string p = w_.op("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
    const std::string y =
        w_.op("Transpose", {w_.op("MatMul", {p, v})}, {{"perm", Int64s{0, 2, 1, 3}}});
    const std::string flat = w_.op("Reshape", {y, w_.integers({0, 0, width})});
    w_.builder().output(w_.op("MatMul", {flat, weights(width)}), DType::float32, {"N", "T", width});
  }

 private:
  std::string weights(std::int64_t columns) {
    const std::uint64_t i = ++count_;
    return w_.builder().initializer("w" + std::to_string(i),
                                    random_floats({width, columns}, 10 + i, -0.5F, 0.5F));
  }
  std::string size_of(std::int64_t axis) {
    const std::string at = w_.constant(Tensor::scalar(axis));
    const std::string dim = w_.op("Gather", {w_.op("Shape", {x_}), at});
    return w_.op("Unsqueeze", {dim, w_.integers({0})});
  }
  std::string joined(std::vector<std::string> sizes) {
    return w_.op("Concat", std::move(sizes), {{"axis", std::int64_t{0}}});
  }
  std::string in_heads(std::int64_t count) {
    const std::string shape =
        joined({size_of(0), size_of(1), w_.integers({count}), w_.integers({size})});
    const std::string rows = w_.op("MatMul", {x_, weights(count * size)});
    return w_.op("Transpose", {w_.op("Reshape", {rows, shape})}, {{"perm", Int64s{0, 2, 1, 3}}});
  }
  std::string repeated(const std::string& k) {
    const std::int64_t own = form_.key_heads;
    const std::string n = size_of(0), t = size_of(1), d = w_.integers({size});
    std::vector<std::string> narrow{n, w_.integers({own}), w_.integers({1}), t, d};
    std::vector<std::string> wide{n, w_.integers({own}), w_.integers({heads / own}), t, d};
    if (form_.others_first) {
      std::swap(narrow[1], narrow[2]);
      std::swap(wide[1], wide[2]);
    }
    const std::string split =
        form_.by_reshape ? w_.op("Reshape", {k, joined(narrow)})
                         : w_.op("Unsqueeze", {k, w_.integers({form_.others_first ? 1 : 2})});
    const std::string expanded = w_.op("Expand", {split, joined(wide)});
    const std::string merged =
        w_.op("Reshape", {expanded, joined({n, w_.integers({heads}), t, d})});
    if (!form_.turned) return merged;
    const std::string mixed = w_.op("Reshape", {merged, joined({n, t, w_.integers({heads}), d})});
    return w_.op("Transpose", {mixed}, {{"perm", Int64s{0, 2, 1, 3}}});
  }
  std::string capped(const std::string& scores) {
    if (form_.cap == 0) return scores;
    const double inside = form_.inside == 0 ? form_.cap : form_.inside;
    const std::string curve = w_.op(form_.curve, {w_.op("Div", {scores, w_.number(inside)})});
    const auto cap = static_cast<float>(form_.cap);
    return w_.op("Mul", {curve, form_.cap_of_heads ? w_.constant(Tensor::of<float>(
                                                         {heads, 1, 1}, {cap, cap, cap, 2 * cap}))
                                                   : w_.number(form_.cap)});
  }
  std::string mask() {
    const std::string end = w_.op("Squeeze", {size_of(1), w_.integers({0})});
    const std::string first = w_.constant(Tensor::scalar(std::int64_t{0}));
    const std::string one = w_.constant(Tensor::scalar(std::int64_t{1}));
    const std::string at = w_.op("Range", {first, end, one});
    const std::string seen = w_.op("LessOrEqual", {at, w_.op("Unsqueeze", {at, w_.integers({1})})});
    return w_.op("Where", {seen, w_.number(0), w_.number(-1e9)});
  }

  Form form_;
  FormWriter w_;
  std::string x_;
  std::uint64_t count_ = 0;
};

// How many nodes of an operator are left.
std::size_t left(const Form& form, const std::string& op) {
  Composer c(form);
  c.write();
  return c.writer().count(op);
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

}  // namespace

TEST_CASE("keys and values that are repeated for heads of queries are read as they are") {
  if (!fusions_run()) return;
  for (const Form& form : {Form{}, Form{.key_heads = 1}, Form{.by_reshape = true}}) {
    CHECK(left(form, "ScaledAttention-") == 1);
    CHECK(left(form, "Expand-") == 0);
  }
  // An output keeps the copy that it names.
  CHECK(left({.read_twice = true}, "Expand-") == 1);
}

TEST_CASE("keys that are repeated otherwise stay repeated") {
  if (!fusions_run()) return;
  for (const Form& form :
       {Form{.others_first = true}, Form{.values_repeated = false}, Form{.turned = true}}) {
    CHECK(left(form, "ScaledAttention-") == 1);
    CHECK(left(form, "Expand-") > 0);
  }
}

TEST_CASE("a cap of scores becomes an attribute of attention") {
  if (!fusions_run()) return;
  for (const Form& form : {Form{.cap = 2}, Form{.cap = 0.5}, Form{.cap = 2, .inside = 3}}) {
    CHECK(left(form, "ScaledAttention-") == 1);
    CHECK(left(form, "softcap") == 1);
    CHECK(left(form, "Tanh-") == 0);
  }
}

TEST_CASE("what is no cap of scores stays as it is") {
  if (!fusions_run()) return;
  for (const Form& form : {Form{.cap = -2}, Form{.cap = 2, .masked_before = true},
                           Form{.cap = 2, .curve = "Sin"}, Form{.cap = 2, .cap_of_heads = true}}) {
    CHECK(left(form, "ScaledAttention-") == 0);
  }
}

TEST_CASE("attention with shared keys and capped scores trains as its own nodes do") {
  for (const Form& form :
       {Form{}, Form{.key_heads = 1, .cap = 2}, Form{.cap = 0.5, .inside = 0.7}}) {
    const auto own = trained(form, {.no_fusion = fusions_from_name("all")});
    const auto fused = trained(form, {});
    REQUIRE(fused.parameters.size() == own.parameters.size());
    for (std::size_t i = 0; i < own.parameters.size(); ++i) {
      CHECK(fused.parameters[i] == Approx(own.parameters[i]).epsilon(1e-5).margin(1e-5));
    }
    if (!fusions_run()) continue;
    INFO(fused.text);
    CHECK(count(fused.text, "ScaledAttentionGrad-") == 1);
    CHECK(count(fused.text, "Softmax") == 0);
    for (const char* copy : {"tensor(float)[N, 2, 2, T, 4]", "tensor(float)[N, 1, 4, T, 4]"}) {
      CHECK(count(fused.text, copy) == 0);
    }
    CHECK(count(own.text, "tensor(float)[N, ") > 0);
    CHECK(count(fused.text, "SumTo-") == 0);
  }
}

}  // namespace ondine::test
