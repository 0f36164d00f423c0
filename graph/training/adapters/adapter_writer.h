// Writers of each kind of adapter.
#pragma once

#include <map>
#include <string>

#include "graph/training/adapters/attach.h"
#include "graph/training/adapters/find_layers.h"
#include "graph/training/adapters/record.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {

// Where adapters go.
struct AdapterWriter {
  ModelDef* model = nullptr;
  GraphWriter* writer = nullptr;
  const LayerFinder* finder = nullptr;
  Adapters* record = nullptr;
  AttachedAdapters* attached = nullptr;

  // A trained parameter; returns its name.
  std::string parameter(const std::string& hint, Tensor value, FreshRule rule) const;
  // The last node of the graph gives `adapter.base` in place of what it gave, which is
  // `adapter.output` from now on.
  void move_aside(Adapter& adapter) const;
  // The last node of the graph gives `adapter.output`; the record takes the adapter.
  void finish(Adapter adapter) const;
};

// Type in which initialization draws a parameter of `dtype`.
DType fresh_type(DType dtype) noexcept;

void check_lora(const Lora& lora);

// A low-rank adapter beside the layer of the last node: LoRA, DoRA, PiSSA.
class LowRankWriter {
 public:
  LowRankWriter(const AdapterWriter& to, const Lora& lora) : to_(to), lora_(&lora) {}

  void add(const AdapterLayer& layer);

 private:
  double scale() const;
  Adapter matrices(const AdapterLayer& layer);
  void start_from_principal(const AdapterLayer& layer, const Adapter& adapter);
  void add_magnitude(const AdapterLayer& layer, Adapter& adapter);
  std::string scaled_product(const AdapterLayer& layer, const Adapter& adapter,
                             const NodeDef& base);
  std::string dropped(const std::string& x);
  std::string scale_of(DType dtype);
  std::string ratio(const AdapterLayer& layer, const Adapter& adapter);
  std::string bias_of(const AdapterLayer& layer);

  AdapterWriter to_;
  const Lora* lora_;
  std::map<DType, std::string> scales_;
  std::string dropped_part_;
};

// A factor of the outputs of the layer whose result, or sum with its bias, the last node gives.
void add_output_factor(const AdapterWriter& to, const AdapterLayer& layer, const std::string& bias);
// A factor of the inputs of a layer whose node is not in the graph yet.
void add_input_factor(const AdapterWriter& to, const AdapterLayer& layer, NodeDef& node);

}  // namespace ondine::graph
