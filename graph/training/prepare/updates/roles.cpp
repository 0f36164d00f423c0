#include "graph/training/prepare/updates/roles.h"

#include <algorithm>
#include <sstream>

#include "core/message.h"
#include "graph/training/prepare/parameters/initialize.h"
#include "graph/training/prepare/parameters/layers.h"
#include "graph/training/prepare/parameters/parameters.h"
#include "graph/training/prepare/updates/attention.h"
#include "graph/training/prepare/updates/low_rank.h"

namespace ondine::graph {
namespace {

using Trained = std::vector<const InitializerDef*>;

float weight_decay_of(const PrepareOptions& options) {
  return std::visit([](const auto& one) { return one.weight_decay; }, options.optimizer);
}

bool is_vector(const InitializerDef& one) { return one.value.shape().rank() < 2; }

void require_decay_groups(const PrepareOptions& options, const Trained& trained) {
  if (weight_decay_of(options) == 0) {
    const char* given =
        !options.decay_groups.empty() ? "factors of the weight decay (--decay-scale)"
        : options.decayed != DecayedParameters::automatic ? "the choice of what decays (--decay)"
                                                          : nullptr;
    if (given == nullptr) return;
    fail(ErrorCode::mismatch, given, " has no effect without weight decay (--weight-decay)");
  }
  for (const DecayGroup& group : options.decay_groups) {
    const bool found = std::any_of(trained.begin(), trained.end(), [&](const auto* one) {
      return matches_glob(group.pattern, one->name);
    });
    if (!found) {
      fail(ErrorCode::mismatch, "weight decay pattern ", quoted(group.pattern),
           " matches no trained parameter");
    }
  }
}

// Whether vectors are left out, and why.
struct Exemption {
  bool vectors = false;
  const char* reason = "";
};
Exemption exemption_of(const ModelDef& model, const Trained& trained,
                       const PrepareOptions& options) {
  if (options.decayed == DecayedParameters::matrices) return {true, ""};
  if (options.decayed == DecayedParameters::all || !has_attention(model)) return {};
  const bool only_vectors =
      std::all_of(trained.begin(), trained.end(), [](const auto* one) { return is_vector(*one); });
  if (only_vectors) return {};
  return {true, "they are taken for norms and biases of a transformer, as the model has attention"};
}

void choose_decay(ParameterRoles& roles, const ModelDef& model, const Trained& trained,
                  const PrepareOptions& options) {
  require_decay_groups(options, trained);
  const float decay = weight_decay_of(options);
  if (decay == 0) return;
  const Exemption exemption = exemption_of(model, trained, options);
  std::size_t exempt = 0;
  std::size_t grouped = 0;
  for (const InitializerDef* one : trained) {
    bool has_group = false;
    float scale = 1;
    for (const DecayGroup& group : options.decay_groups) {
      if (!matches_glob(group.pattern, one->name)) continue;
      scale *= group.scale;
      has_group = true;
    }
    if (!has_group && exemption.vectors && is_vector(*one)) {
      scale = 0;
      ++exempt;
    }
    if (has_group) ++grouped;
    if (scale != 1) roles.decay.emplace(one->name, scale);
  }
  std::ostringstream note;
  const auto plain = trained.size() - exempt - grouped;
  note << decay << " on " << plain << (plain == 1 ? " parameter" : " parameters");
  if (grouped != 0) note << ", times factors of their own on " << grouped;
  if (exempt != 0) {
    note << ", none on " << exempt << (exempt == 1 ? " vector" : " vectors");
    roles.decay_reason = exemption.reason;
  }
  roles.decay_note = note.str();
}

// Weights that Conv nodes of the main graph read.
Strings windows_of(const GraphDef& graph) {
  Strings names;
  for (const NodeDef& node : graph.nodes) {
    if (is_standard(node, "Conv") && node.inputs.size() > 1) names.insert(node.inputs[1]);
  }
  return names;
}

// Keller Jordan's rule: hidden matrices, neither embeddings nor the last layer.
void choose_hidden(ParameterRoles& roles, const ModelDef& model, const Trained& trained,
                   const std::vector<std::string>& read) {
  const Layers layers(model.graph,
                      differentiable_values(model.graph, Strings(read.begin(), read.end())));
  const Strings windows = windows_of(model.graph);
  for (const InitializerDef* one : trained) {
    const Shape& shape = one->value.shape();
    const bool fits = shape.rank() == 2 || (shape.rank() > 2 && windows.contains(one->name));
    if (!fits || shape.size() == 0 || layers.number_of(one->name) == 0) continue;
    if (is_product_weight(model.graph, model.functions, *one)) roles.hidden.insert(one->name);
  }
  if (roles.hidden.empty()) {
    fail(ErrorCode::mismatch,
         "muon finds no hidden matrix that trains: parameters of other kinds, embeddings and the "
         "last layer follow adamw, which is then the optimizer to choose");
  }
  roles.rules_note =
      cat("muon on ", roles.hidden.size(), " hidden matrices, adamw on ",
          trained.size() - roles.hidden.size(), " vectors, embeddings and parts of the last layer");
}

void count_blocks(ParameterRoles& roles, const Trained& trained) {
  const auto count = std::count_if(trained.begin(), trained.end(), [](const auto* one) {
    return block_size(one->value.shape()) != 0;
  });
  const auto whole = static_cast<std::ptrdiff_t>(trained.size()) - count;
  if (whole == 0) return;
  roles.rules_note = cat("moments of 8 bits of ", count, " parameters, of full precision of ",
                         whole, " with few elements or without blocks of equal size");
}

void count_projected(ParameterRoles& roles, const Trained& trained, std::int64_t rank,
                     const char* name) {
  const auto count = std::count_if(trained.begin(), trained.end(), [&](const auto* one) {
    return has_low_rank(one->value.shape(), rank);
  });
  if (count == 0) {
    fail(ErrorCode::mismatch, name, " finds no matrix with more than ", rank,
         " rows and columns that trains; choose a smaller rank (--projection-rank) or adamw");
  }
  roles.rules_note =
      cat(name, " on ", count, " matrices with more than ", rank, " rows and columns, adamw on ",
          static_cast<std::ptrdiff_t>(trained.size()) - count, " other parameters");
}

}  // namespace

std::int64_t block_size(const Shape& shape) {
  constexpr std::int64_t most = 256;
  constexpr std::int64_t least = 32;
  constexpr std::int64_t few = 4096;
  const auto count = static_cast<std::int64_t>(shape.size());
  if (count < few) return 0;
  for (std::int64_t size = most; size >= least; --size) {
    if (count % size == 0) return size;
  }
  return 0;
}

ParameterRoles choose_roles(const ModelDef& model, const Trained& trained,
                            const std::vector<std::string>& read, const PrepareOptions& options) {
  ParameterRoles roles;
  choose_decay(roles, model, trained, options);
  if (std::holds_alternative<Muon>(options.optimizer)) {
    choose_hidden(roles, model, trained, read);
  }
  if (std::holds_alternative<AdamW8>(options.optimizer)) count_blocks(roles, trained);
  if (const auto* galore = std::get_if<GaLore>(&options.optimizer)) {
    count_projected(roles, trained, galore->rank, "galore");
  }
  if (const auto* apollo = std::get_if<Apollo>(&options.optimizer)) {
    count_projected(roles, trained, apollo->rank, "apollo");
  }
  if (std::holds_alternative<Mezo>(options.optimizer)) {
    roles.rules_note =
        "two losses a step along a random direction, without derivatives; Dropout and "
        "BatchNormalization as in inference";
  }
  return roles;
}

}  // namespace ondine::graph
