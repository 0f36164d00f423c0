// Writes the layers that the families share as nodes of ai.onnx.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ondine/tensor.h>

#include "graph/ir/document.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/writer.h"
#include "trainer/hugging_face/weights.h"

namespace ondine::hugging_face {

// RMSNormalization, RotaryEmbedding and Attention are operators since this version.
inline constexpr std::int64_t opset = 23;
// Their IR version, as the standard pairs them.
inline constexpr std::int64_t ir_version = 11;

// Activations begin as [batch, sequence, width]. A module is the path of PyTorch's, which names the
// weights.
class Network {
 public:
  Network(graph::ModelDef& model, Weights& weights);

  Weights& weights() noexcept { return *weights_; }
  std::string input(const std::string& name, DType dtype, std::vector<graph::DimDef> dims);
  void output(const std::string& name, std::vector<graph::DimDef> dims);

  std::string node(const std::string& op, std::vector<std::string> inputs,
                   graph::Attributes attributes = {});
  // As node(), with a name for the result.
  std::string named(const std::string& op, std::vector<std::string> inputs, const std::string& name,
                    graph::Attributes attributes = {});
  std::vector<std::string> nodes(const std::string& op, std::vector<std::string> inputs,
                                 const std::vector<std::string>& names,
                                 graph::Attributes attributes = {});
  std::string integers(const std::vector<std::int64_t>& values);  // of rank 1
  std::string integer(std::int64_t value);                        // of rank 0
  std::string number(double value);                               // of rank 0
  std::string constant(const std::string& name, const std::vector<float>& values);

  std::string weight(const std::string& name, const Shape& shape, Form form = Form::stored);
  // Weights [out, in] of the file.
  std::string linear(const std::string& x, const std::string& module, std::int64_t from,
                     std::int64_t to, bool has_bias);
  // Weights [in, out] of the file, and a bias.
  std::string conv1d(const std::string& x, const std::string& module, std::int64_t from,
                     std::int64_t to);
  // x times the transposed table: the scores of a tied head.
  std::string tied_scores(const std::string& x, const std::string& table);
  std::string embedding(const std::string& ids, const std::string& table) {
    return node("Gather", {table, ids});
  }
  std::string layer_norm(const std::string& x, const std::string& module, std::int64_t width,
                         double epsilon);
  // One of "gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "silu" and "tanh"; `member` is named
  // otherwise.
  std::string activation(const std::string& x, const std::string& name, const std::string& member);

  std::string add(const std::string& a, const std::string& b) { return node("Add", {a, b}); }
  std::string scaled(const std::string& x, double factor);
  std::string shape_of(const std::string& x) { return node("Shape", {x}); }
  std::string size_of_dim(const std::string& x, std::int64_t axis);  // of rank 0
  std::string range(const std::string& from, const std::string& to);

 private:
  graph::ModelDef* model_;
  Weights* weights_;
  graph::Names names_;
  graph::GraphWriter writer_;
  std::map<std::string, std::string> written_;  // weights and constants
};

}  // namespace ondine::hugging_face
