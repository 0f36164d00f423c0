// Attention with dynamic axes as PyTorch's exporters write it: masks computed from inputs and
// expanded, guarded weights, keys transposed as one batch of matrices.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <limits>

#include <ondine/model.h>
#include <ondine/prepare.h>

#include "tests/support/form_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text.h"

namespace ondine::test {
namespace {

using Int64s = std::vector<std::int64_t>;
constexpr std::int64_t samples = 3, steps = 5, size = 4, width = 8;

// Variation of attention as it is exported.
struct Form {
  bool guarded = true;         // Where(IsNaN(p), 0, p)
  double instead = 0;          // of weights that are NaN
  bool guards_other = false;   // the test is of the scores
  bool keys_as_batch = true;   // Reshape to [-1, T, size], Transpose, Reshape
  Int64s batch_perm{0, 2, 1};  // of that Transpose
  bool expanded = true;        // the mask, by Where(shape == -1, 1, shape)
  bool read_twice = false;     // the weights are an output, too
  std::int64_t hidden = 0;     // first keys that the mask of the first sample hides
  bool other_length = false;   // the length of the mask is not that of x by its name
  Shape constant{};            // of a mask that replaces the computed one
};

class Composer {
 public:
  explicit Composer(const Form& form) : form_(form), w_(18) {}

  FormWriter& writer() { return w_; }

  void write() {
    x_ = w_.input("x", {"N", "T", width}, random_floats({samples, steps, width}, 1));
    Tensor keep(DType::int64, {samples, steps});
    for (std::int64_t i = 0; i < keep.size(); ++i) {
      keep.mutable_values<std::int64_t>()[static_cast<std::size_t>(i)] = i >= form_.hidden;
    }
    keep_ = w_.input("keep", {"N", form_.other_length ? "K" : "T"}, keep);
    const std::string q = w_.op("Mul", {heads(), w_.number(0.7)});
    const std::string k = w_.op("Mul", {transposed(heads()), w_.number(0.7)});
    const std::string scores = w_.op("Add", {w_.op("MatMul", {q, k}), mask()});
    std::string p = w_.op("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
    if (form_.guarded) {
      const std::string test = w_.op("IsNaN", {form_.guards_other ? scores : p});
      p = w_.op("Where", {test, w_.number(form_.instead), p});
    }
    if (form_.read_twice) w_.named_output(p, {"N", 2, "T", "T"});
    const std::string y =
        w_.op("Transpose", {w_.op("MatMul", {p, heads()})}, {{"perm", Int64s{0, 2, 1, 3}}});
    const std::string flat = w_.op("Reshape", {y, w_.integers({0, 0, width})});
    w_.builder().output(w_.op("MatMul", {flat, weights()}), DType::float32, {"N", "T", width});
  }

 private:
  std::string weights() {
    const std::uint64_t i = ++count_;
    return w_.builder().initializer("w" + std::to_string(i), random_floats({width, width}, 10 + i));
  }
  // The size of an axis of x.
  std::string size_of(std::int64_t axis) {
    const std::string at = w_.constant(Tensor::scalar(axis));
    const std::string dim = w_.op("Gather", {w_.op("Shape", {x_}), at});
    return w_.op("Unsqueeze", {dim, w_.integers({0})});
  }
  std::string joined(std::vector<std::string> sizes) {
    return w_.op("Concat", std::move(sizes), {{"axis", std::int64_t{0}}});
  }
  std::string heads() {
    const std::string shape =
        joined({size_of(0), size_of(1), w_.integers({-1}), w_.integers({size})});
    return w_.op("Transpose", {w_.op("Reshape", {w_.op("MatMul", {x_, weights()}), shape})},
                 {{"perm", Int64s{0, 2, 1, 3}}});
  }
  std::string transposed(const std::string& k) {
    if (!form_.keys_as_batch) {
      return w_.op("Transpose", {k}, {{"perm", Int64s{0, 1, 3, 2}}});
    }
    const std::string batch = joined({w_.integers({-1}), size_of(1), w_.integers({size})});
    const std::string turned =
        w_.op("Transpose", {w_.op("Reshape", {k, batch})}, {{"perm", form_.batch_perm}});
    return w_.op("Reshape",
                 {turned, joined({size_of(0), w_.integers({2}), w_.integers({size}), size_of(1)})});
  }
  // Mask of positions up to each query and of the keys that the input keeps.
  std::string mask() {
    if (form_.constant.rank() > 0) return w_.random(form_.constant);
    const std::string end = w_.op("Squeeze", {size_of(1), w_.integers({0})});
    const std::string first = w_.constant(Tensor::scalar(std::int64_t{0}));
    const std::string one = w_.constant(Tensor::scalar(std::int64_t{1}));
    const std::string at = w_.op("Range", {first, end, one});
    const std::string causal =
        w_.op("LessOrEqual", {at, w_.op("Unsqueeze", {at, w_.integers({1})})});
    const std::string kept = w_.op("Cast", {keep_}, {{"to", std::int64_t{9}}});
    std::string seen = w_.op("And", {causal, w_.op("Unsqueeze", {kept, w_.integers({1, 2})})});
    if (form_.expanded) seen = expanded(seen);
    return w_.op("Where",
                 {seen, w_.number(0), w_.number(-std::numeric_limits<double>::infinity())});
  }
  std::string expanded(const std::string& mask) {
    const std::string shape = joined({size_of(0), w_.integers({-1}), size_of(1), size_of(1)});
    const std::string keeps = w_.op("Equal", {shape, w_.integers({-1, -1, -1, -1})});
    const std::string target = w_.op("Where", {keeps, w_.integers({1, 1, 1, 1}), shape});
    return w_.op("Expand", {mask, target});
  }

  Form form_;
  FormWriter w_;
  std::string x_, keep_;
  std::uint64_t count_ = 0;
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

}  // namespace

TEST_CASE("attention with dynamic axes becomes one operator, as each exporter writes it") {
  if (!fusions_run()) return;
  CHECK(attentions({}) == 1);
  CHECK(attentions({.guarded = false}) == 1);
  CHECK(attentions({.keys_as_batch = false}) == 1);
  CHECK(attentions({.expanded = false}) == 1);
  CHECK(attentions({.guarded = false, .keys_as_batch = false, .expanded = false}) == 1);
  // Weights that are multiplied with the values have as many keys as these.
  CHECK(attentions({.expanded = false, .other_length = true}) == 1);
}

TEST_CASE("a constant mask of as many queries as keys fits lengths that have a name") {
  if (!fusions_run()) return;
  CHECK(attentions({.constant = {steps, steps}}) == 1);
  CHECK(attentions({.constant = {1, 1, steps, steps}}) == 1);
  CHECK(attentions({.constant = {steps}}) == 1);
  CHECK(attentions({.constant = {1, steps}}) == 1);
  // One query would give as many results as the mask has rows.
  CHECK(attentions({.constant = {steps, 1}}) == 0);
  CHECK(attentions({.constant = {samples, 1, 1, steps}}) == 0);
}

TEST_CASE("attention that differs from the exported form in one place stays as it is") {
  if (!fusions_run()) return;
  CHECK(attentions({.instead = 1}) == 0);
  CHECK(attentions({.guards_other = true}) == 0);
  CHECK(attentions({.read_twice = true}) == 0);
}

TEST_CASE("keys that are transposed otherwise are no rows of keys") {
  if (!fusions_run()) return;
  Composer c({.batch_perm = {0, 1, 2}});
  c.write();
  CHECK(c.writer().count("transK = 1") == 1);
}

TEST_CASE("heads that share keys keep no scores under a causal mask of lengths with a name") {
  FormWriter w(23);
  const auto operand = [&](const char* name, std::int64_t heads, std::uint64_t seed) {
    return w.input(name, {"N", heads, "T", size},
                   random_floats({samples, heads, steps, size}, seed));
  };
  const std::vector<std::string> operands{operand("q", 4, 1), operand("k", 2, 2),
                                          operand("v", 2, 3)};
  w.named_output(w.op("Attention", operands, {{"is_causal", std::int64_t{1}}}),
                 {"N", 4, "T", size});
  CHECK(w.count("ScaledAttention-") == 1);
  CHECK(w.count("Softmax") == 0);
}

TEST_CASE("exported attention trains as its own nodes do, and keeps no scores") {
  const auto own = trained({}, {.no_fusion = fusions_from_name("all")});
  for (const Form& form : {Form{}, Form{.keys_as_batch = false}, Form{.expanded = false}}) {
    const auto fused = trained(form, {});
    REQUIRE(fused.parameters.size() == own.parameters.size());
    for (std::size_t i = 0; i < own.parameters.size(); ++i) {
      CHECK(fused.parameters[i] == Approx(own.parameters[i]).epsilon(1e-5).margin(1e-5));
    }
    if (!fusions_run()) continue;
    INFO(fused.text);
    CHECK(count(fused.text, "ScaledAttentionGrad-") == 1);
    CHECK(count(fused.text, "Softmax") == 0);
    CHECK(count(fused.text, "IsNaN") == 0);
    CHECK(count(fused.text, "SumTo-") == 0);
  }
}

TEST_CASE("queries without a key give 0 and have no derivative where the exporter guards them") {
  const Form padded{.hidden = 2};
  CHECK(attentions(padded) == (fusions_run() ? 1 : 0));  // compares results, too
  const auto fused = trained(padded, {});
  for (const float parameter : fused.parameters) CHECK(std::isfinite(parameter));
}

}  // namespace ondine::test
