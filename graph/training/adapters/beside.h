// Low-rank adapters beside the layers of a model for inference, each as often as an input says.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <ondine/tensor.h>

#include "graph/ir/document.h"
#include "graph/training/adapters/record.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {

// In the layout of the record.
struct BesideLayer {
  LayerForm form = LayerForm::linear;  // a convolution counts as linear here
  std::string module;
  Tensor a;
  Tensor b;
};
struct BesideAdapter {
  std::string name;   // of the input
  double weight = 1;  // its default
  double scale = 1;
  std::vector<BesideLayer> layers;
};

// Each layer adds input scale (x a) b of every adapter that has its module; of the parts in front
// of a module's name either may have more. Error(mismatch) for a module that no layer or that two
// modules of the model may be, for other shapes or types than those of the layer, and for a name
// that the model has.
void add_beside(ModelDef& model, std::span<const BesideAdapter> adapters, const ValueTypes& types);

// Whether one is the other with parts in front.
bool same_module(const std::string& one, const std::string& other);

}  // namespace ondine::graph
