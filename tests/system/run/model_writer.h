// Training models written in a few lines: weights, nodes and a step of Adam.
#pragma once

#include <string>
#include <vector>

#include <ondine/shape.h>

#include "graph/ir/document.h"

namespace ondine::test {

class ModelWriter {
 public:
  ModelWriter();

  // A float32 initializer of the main graph with uniform values in [-scale, scale].
  std::string weight(const std::string& name, const Shape& shape, float scale);
  std::string constant(graph::GraphDef& graph, const std::string& name, Tensor value);
  // Appends a node with one output, `output` or a fresh name, which is returned.
  std::string op(graph::GraphDef& graph, const std::string& type, std::vector<std::string> inputs,
                 graph::Attributes attributes = {}, std::string output = {});
  // Gradient of `loss` by `weights` and an Adam step on them, in the algorithm of `info`; the loss
  // is its first output. Names begin with `prefix`.
  void adam(graph::TrainingInfoDef& info, const std::string& loss,
            const std::vector<std::string>& weights, float rate, const std::string& prefix = "");

  graph::GraphDef& main() { return model_.graph; }
  graph::ModelDef& model() { return model_; }

 private:
  graph::ModelDef model_;
  std::size_t names_ = 0;
};

}  // namespace ondine::test
