// Writes forms that passes recognize, and compares a model of them with itself without passes.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include "tests/support/fusions_run.h"
#include "tests/support/op_harness.h"

namespace ondine::test {

// Nodes with names of their own; numbers are initializers.
class FormWriter {
 public:
  using Int64s = std::vector<std::int64_t>;
  using Attributes = ModelBuilder::Attributes;

  explicit FormWriter(std::int64_t opset = 17) : b_("network", opset) {}

  std::string input(const std::string& name, const Int64s& dims, DType dtype = DType::float32) {
    const Shape shape{std::span<const std::int64_t>(dims)};
    std::vector<ModelBuilder::Dim> all(dims.begin(), dims.end());
    feeds_.emplace_back(name, dtype == DType::int64
                                  ? Tensor(DType::int64, shape)
                                  : random_floats(shape, 7 + feeds_.size(), -2, 2));
    return b_.input(name, dtype, std::move(all));
  }
  // Adds an input with dims that may be names.
  std::string input(const std::string& name, std::vector<ModelBuilder::Dim> dims, Tensor value) {
    const DType dtype = value.dtype();
    feeds_.emplace_back(name, std::move(value));
    return b_.input(name, dtype, std::move(dims));
  }
  std::string integers(const Int64s& values) {
    return constant(Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  std::string number(double value) { return constant(Tensor::scalar(static_cast<float>(value))); }
  std::string constant(Tensor value) {
    return b_.initializer("c" + std::to_string(++count_), std::move(value));
  }
  std::string random(const Shape& shape, float low = -1, float high = 1) {
    return constant(random_floats(shape, 100 + count_, low, high));
  }
  std::string op(const std::string& name, std::vector<std::string> inputs, Attributes more = {}) {
    return b_.node(name, std::move(inputs), std::move(more));
  }
  // Adds an output of the model, so that a value that a pass would take apart is read from outside.
  void output(const std::string& value, const Int64s& dims) {
    const std::string name = b_.node("Identity", {value}, {}, "out" + std::to_string(++count_));
    b_.output(name, DType::float32, std::vector<ModelBuilder::Dim>(dims.begin(), dims.end()));
  }
  void named_output(const std::string& value, std::vector<ModelBuilder::Dim> dims) {
    const std::string name = b_.node("Identity", {value}, {}, "out" + std::to_string(++count_));
    b_.output(name, DType::float32, std::move(dims));
  }
  ModelBuilder& builder() { return b_; }
  const NamedValues& feeds() const { return feeds_; }

  // Requires the results of the model to be those without passes; returns how many nodes of the
  // optimized graph have an operator that begins like this.
  std::size_t count(const std::string& operators) const {
    const auto bytes = b_.bytes();
    const Model model = Model::load(bytes);
    LoadOptions none;
    none.no_fusion.assign(all_fusions().begin(), all_fusions().end());
    const NamedValues wanted = Model::load(bytes, none).infer(feeds_);
    const NamedValues got = model.infer(feeds_);
    REQUIRE(got.size() == wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      check_close(got[i].second.tensor(), wanted[i].second.tensor(), {1e-5, 1e-5});
    }
    const std::string text = model.inspect("optimized");
    std::size_t found = 0;
    for (auto at = text.find(operators); at != text.npos; at = text.find(operators, at + 1)) {
      ++found;
    }
    return found;
  }

  // Parameters after three steps with labels of this shape and the mean squared error. Only weights
  // that `names` match train, all if there are none. `text` becomes the optimized graph.
  std::vector<float> trained(std::vector<std::string> names, const Shape& label,
                             const LoadOptions& options, std::string& text) const {
    PrepareOptions prepare_options;
    prepare_options.loss = Loss::mse;
    prepare_options.train = std::move(names);
    Model model = prepare(b_.bytes(), prepare_options, options);
    NamedValues batch = feeds_;
    batch.emplace_back("label", random_floats(label, 6));
    for (int step = 0; step < 3; ++step) model.train_step(batch);
    text = model.inspect("optimized");
    return model.parameters();
  }

 private:
  ModelBuilder b_;
  NamedValues feeds_;
  std::size_t count_ = 0;
};

}  // namespace ondine::test
