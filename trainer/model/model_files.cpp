#include <algorithm>
#include <set>
#include <string>

#include <ondine/version.h>

#include "checkpoints/store.h"
#include "core/files/file.h"
#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/contract/opsets.h"
#include "graph/record/record.h"
#include "graph/record/training_entries.h"
#include "graph/training/adapters/merge.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/held.h"
#include "graph/training/quantize/hoist_quantization.h"
#include "graph/training/quantize/integer_weights.h"
#include "proto/export.h"
#include "trainer/model/model_impl.h"

namespace ondine {
namespace {

bool uses_domain(const std::vector<graph::NodeDef>& nodes, std::string_view domain) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const graph::NodeDef& node) {
    if (node.domain == domain) return true;
    return std::any_of(
        node.attributes.begin(), node.attributes.end(), [&](const graph::Attribute& attribute) {
          const auto* body = std::get_if<std::shared_ptr<const graph::GraphDef>>(&attribute.data);
          return body != nullptr && uses_domain((*body)->nodes, domain);
        });
  });
}

bool uses_domain(const graph::ModelDef& def, std::string_view domain) {
  return uses_domain(def.graph.nodes, domain) ||
         std::any_of(def.functions.begin(), def.functions.end(),
                     [&](const auto& function) { return uses_domain(function.nodes, domain); });
}

ModelIdentity identity(const graph::ModelDef& def) {
  return {def.producer_name, def.graph.name, def.domain, def.model_version};
}

// Copies strings outside the std::variant: libstdc++ leaves a broken variant when that runs out of
// memory.
Properties copy_of(const Properties& properties) {
  Properties copy;
  copy.reserve(properties.size());
  for (const auto& [name, property] : properties) {
    std::visit([&, &key = name](auto data) { copy.emplace_back(key, Property(std::move(data))); },
               property);
  }
  return copy;
}

// The data record that the checkpoint was written with.
std::optional<DataRecord> take_record(Properties& properties, const std::string& file) {
  std::optional<DataRecord> record;
  for (const auto& [name, property] : properties) {
    const auto* text = std::get_if<std::string>(&property);
    if (name != graph::record_key || text == nullptr) continue;
    record = with_context([&] { return graph::from_json(*text); },
                          [&] { return cat("checkpoint ", quoted(file), ", data record"); });
  }
  std::erase_if(properties, [](const auto& one) { return one.first == graph::record_key; });
  return record;
}

}  // namespace

void Model::save_checkpoint(const std::filesystem::path& file, const TrainingCursor& cursor,
                            const Properties& properties) const {
  guard_memory("save the checkpoint", [&] {
    const auto scope = impl_->use(trainer::Use::read, "save the checkpoint");
    for (const auto& [name, property] : properties) {
      if (name != graph::record_key) continue;
      fail(ErrorCode::mismatch, "the property ", quoted(name), " is that of the data record");
    }
    Checkpoint checkpoint;
    checkpoint.fingerprint = impl_->fingerprint();
    checkpoint.library_version = version();
    checkpoint.model = identity(impl_->def);
    const auto present = impl_->state.read();
    for (std::size_t i = 0; i < impl_->state.size(); ++i) {
      const trainer::Variable& variable = impl_->state.variable(i);
      checkpoint.state.push_back({variable.name, to_string(variable.role), present[i]});
    }
    checkpoint.random_seed = impl_->seed;
    checkpoint.random_step = impl_->steps;
    checkpoint.step = impl_->steps;
    checkpoint.epoch = cursor.epoch;
    checkpoint.algorithm_steps = impl_->algorithm_steps;
    checkpoint.cursor = cursor;
    checkpoint.properties = copy_of(properties);
    const graph::Properties metadata = impl_->metadata();
    if (graph::has_record(metadata)) {
      checkpoint.properties.emplace_back(graph::record_key,
                                         graph::to_json(graph::read_record(metadata)));
    }
    PosixFileSystem files;
    ondine::save_checkpoint(files, file, checkpoint);
  });
}

RestoreReport Model::restore_checkpoint(const std::filesystem::path& file) {
  return guard_memory("restore the checkpoint", [&]() -> RestoreReport {
    const auto scope = impl_->use(trainer::Use::write, "restore the checkpoint");
    const ExpectedModel expected{impl_->fingerprint(), identity(impl_->def)};
    PosixFileSystem files;
    auto loaded = load_checkpoint(files, file, expected, impl_->options.limits);
    Checkpoint& checkpoint = loaded.checkpoint;
    if (checkpoint.state.size() != impl_->state.size() ||
        checkpoint.algorithm_steps.size() != impl_->algorithm_steps.size()) {
      fail(ErrorCode::mismatch, "checkpoint ", quoted(loaded.file.string()), " has ",
           checkpoint.state.size(), " state variables, the model ", impl_->state.size());
    }
    const trainer::StateStore::Draft draft(impl_->state);
    for (const CheckpointVariable& variable : checkpoint.state) {
      const std::size_t index = impl_->require_variable(variable.name);
      const Tensor& initial = impl_->state.variable(index).initial;
      if (variable.value.dtype() != initial.dtype() ||
          !(variable.value.shape() == initial.shape())) {
        fail(ErrorCode::mismatch, "checkpoint ", quoted(loaded.file.string()), " has ",
             variable.value.dtype(), variable.value.shape(), " for state variable ",
             quoted(variable.name), ", the model ", initial.dtype(), initial.shape());
      }
      impl_->set_next(index, variable.value);
    }
    const auto record = take_record(checkpoint.properties, loaded.file.string());
    RestoreReport report{loaded.file, loaded.note, checkpoint.cursor,
                         std::move(checkpoint.properties)};
    impl_->state.commit();
    if (record) {
      const std::unique_lock lock(impl_->metadata_mutex);
      graph::write_record(impl_->def.metadata, *record);
    }
    impl_->seed = checkpoint.random_seed;
    impl_->steps = checkpoint.step;
    impl_->algorithm_steps = std::move(checkpoint.algorithm_steps);
    return report;
  });
}

graph::ModelDef Model::Impl::with_present_state() const {
  require_unchanged_files();
  const auto scope = use(trainer::Use::read, "copy the model");
  std::shared_lock lock(metadata_mutex);
  graph::ModelDef copy = def;
  lock.unlock();
  const auto present = state.read();
  const auto replace = [&](graph::GraphDef& graph) {
    for (graph::InitializerDef& init : graph.initializers) {
      const std::size_t index = state.find(init.name);
      if (index < state.size()) init.value = present[index].clone();
    }
    // A trained sparse tensor is exported as a dense one.
    std::erase_if(graph.sparse_initializers, [&](const graph::SparseTensorDef& sparse) {
      const std::size_t index = state.find(sparse.name);
      if (index == state.size()) return false;
      graph.initializers.push_back({sparse.name, present[index].clone(), {}, {}});
      return true;
    });
  };
  replace(copy.graph);
  for (graph::TrainingInfoDef& info : copy.training) {
    if (info.algorithm) replace(*info.algorithm);
  }
  return copy;
}

graph::ModelDef Model::Impl::for_inference() const {
  graph::ModelDef result = with_present_state();
  result.training.clear();
  graph::merge_adapters(result);
  graph::lower_weights(result.graph);
  const auto aware = std::find_if(result.metadata.begin(), result.metadata.end(),
                                  [](const auto& one) { return one.first == graph::entry::qat; });
  if (aware != result.metadata.end()) {
    const bool is_unsigned = aware->second == to_string(DType::uint8);
    graph::store_integer_weights(result.graph, is_unsigned ? DType::uint8 : DType::int8);
    graph::hoist_quantization(result);
  }
  // Removes what only training needs.
  std::set<std::string> read = graph::reads_of(result.graph);
  for (const graph::ValueDef& input : result.graph.inputs) read.insert(input.name);
  std::erase_if(result.graph.initializers, [&](const graph::InitializerDef& one) {
    return state.find(one.name) < state.size() && !result.graph.nodes.empty() &&
           !read.contains(one.name);
  });
  std::erase_if(result.opsets, [&](const graph::OpsetImport& import) {
    return import.domain == graph::training_domain && !uses_domain(result, graph::training_domain);
  });
  std::erase_if(result.metadata, [](const auto& property) {
    return std::find(graph::entry::all.begin(), graph::entry::all.end(), property.first) !=
           graph::entry::all.end();
  });
  return result;
}

void Model::export_inference(const std::filesystem::path& file,
                             const ExportOptions& options) const {
  guard_memory("export the model", [&] {
    save_model(impl_->for_inference(), file, options.external_data_from,
               impl_->leftovers.for_inference());
  });
}

void Model::export_training(const std::filesystem::path& file, const ExportOptions& options) const {
  guard_memory("export the model", [&] {
    save_model(impl_->with_present_state(), file, options.external_data_from, impl_->leftovers);
  });
}

std::vector<std::byte> Model::export_inference() const {
  return guard_memory("export the model", [&] {
    return export_model(impl_->for_inference(), impl_->leftovers.for_inference());
  });
}

std::vector<std::byte> Model::export_training() const {
  return guard_memory("export the model",
                      [&] { return export_model(impl_->with_present_state(), impl_->leftovers); });
}

std::vector<std::pair<std::string, std::string>> Model::metadata() const {
  return guard_memory("describe the model", [&] { return impl_->metadata(); });
}

}  // namespace ondine
