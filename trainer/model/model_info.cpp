#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/check/findings.h"
#include "graph/contract/op_def.h"
#include "graph/ir/fingerprint.h"
#include "graph/training/combine.h"
#include "trainer/model/feeds.h"
#include "trainer/model/load_checked.h"
#include "trainer/model/model_impl.h"

namespace ondine {
namespace {

PortInfo port(const std::string& name, const graph::Type& type, const graph::Graph& graph) {
  PortInfo info;
  info.name = name;
  info.type = trainer::describe_type(type, graph);
  if (type.is_tensor()) info.dtype = type.dtype;
  if (type.is_tensor() && type.dims) {
    info.dims.emplace();
    for (const graph::Dim dim : *type.dims) info.dims->push_back(dim.known() ? dim.size() : -1);
  }
  return info;
}

std::vector<PortInfo> input_ports(const trainer::Function& function) {
  std::vector<PortInfo> ports;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const trainer::InputSource& input = function.inputs[i];
    if (!input.declared) continue;
    const graph::Type& type = (*function.graph)[function.graph->inputs[i]].declared;
    ports.push_back(port(function.input_names[i], type, *function.graph));
    ports.back().has_default =
        input.fallback->defined() || input.variable != trainer::InputSource::no_variable;
  }
  return ports;
}

std::vector<PortInfo> output_ports(const trainer::Function& function,
                                   const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, const trainer::NamedOutput*> outputs;
  for (const trainer::NamedOutput& output : function.outputs) {
    outputs.emplace(output.name, &output);
  }
  std::vector<PortInfo> ports;
  for (const std::string& name : names) {
    const trainer::NamedOutput& output = *outputs.at(name);
    graph::Type type = (*function.graph)[output.value].type;
    if (compatible(type, output.declared)) type = merge(type, output.declared);
    ports.push_back(port(name, type, *function.graph));
  }
  return ports;
}

}  // namespace

std::vector<PortInfo> Model::inputs() const {
  return guard_memory("describe the model",
                      [&] { return input_ports(impl_->functions.inference.function); });
}

std::vector<PortInfo> Model::outputs() const {
  return guard_memory("describe the model", [&] {
    const trainer::Function& function = impl_->functions.inference.function;
    return output_ports(function, function.default_outputs);
  });
}

std::size_t Model::algorithm_count() const { return impl_->functions.algorithms.size(); }

AlgorithmInfo Model::algorithm(std::size_t index) const {
  return guard_memory("describe the model", [&] {
    const trainer::Algorithm& algorithm = impl_->require_algorithm(index);
    AlgorithmInfo info;
    info.inputs = input_ports(algorithm.step);
    info.outputs = output_ports(algorithm.step, algorithm.outputs);
    for (const trainer::Update& update : algorithm.step.updates) {
      info.updates.push_back(impl_->state.variable(update.variable).name);
    }
    return info;
  });
}

std::vector<std::string> Model::warnings() const {
  return guard_memory("list the warnings", [&] {
    const auto& log = impl_->runtime.warnings;
    return log ? log->texts() : std::vector<std::string>();
  });
}

std::uint64_t Model::seed() const { return impl_->seed; }
std::uint64_t Model::steps() const { return impl_->steps; }
std::uint64_t Model::fingerprint_bytes() const {
  return guard_memory("describe the model", [&] {
    return graph::fingerprint_bytes(impl_->def, graph::state_variables(impl_->def));
  });
}
std::string Model::fingerprint() const {
  return guard_memory("take the fingerprint", [&] { return to_hex(impl_->fingerprint()); });
}

void Model::set_threads(int threads) {
  guard_memory("start threads", [&] {
    if (threads < 1) fail(ErrorCode::mismatch, "the number of threads must be at least 1");
    const auto scope = impl_->use(trainer::Use::set, "set the number of threads");
    auto pool = std::make_unique<ThreadPool>(threads);
    impl_->runtime.threads = threads;
    impl_->runtime.pool = std::move(pool);
    impl_->forget_plans();
  });
}

void Model::set_progress(ProgressCallback callback) {
  const auto scope = impl_->use(trainer::Use::set, "set the progress callback");
  impl_->progress = std::move(callback);
}
void Model::set_warning_callback(WarningCallback callback) {
  guard_memory("set the warning callback", [&] {
    const auto scope = impl_->use(trainer::Use::set, "set the warning callback");
    if (impl_->runtime.warnings) impl_->runtime.warnings->set_listener(std::move(callback));
  });
}
void Model::set_cancel_flag(std::shared_ptr<const CancelFlag> flag) {
  const auto scope = impl_->use(trainer::Use::set, "set the cancel flag");
  impl_->cancel = std::move(flag);
}
void Model::set_deadline(std::optional<std::chrono::milliseconds> per_call) {
  const auto scope = impl_->use(trainer::Use::set, "set the deadline");
  impl_->deadline = per_call;
}

PlanInfo Model::plan(Feeds feeds, std::optional<std::size_t> algorithm, Fetches fetches) const {
  return guard_memory("plan a call", [&] {
    const auto scope = impl_->use(trainer::Use::read, "plan a call");
    const trainer::Function& function = algorithm ? impl_->require_algorithm(*algorithm).step
                                                  : impl_->inference().for_feeds(feeds.values());
    const auto names = fetches.names();
    trainer::Call& selected =
        function.call(names.empty() ? std::span(function.default_outputs) : names, impl_->runtime);
    const auto present = impl_->state.read();
    std::vector<Value> inputs;
    function.gather(feeds.values(), present, inputs);
    const auto plan = selected.plan(inputs);
    PlanInfo info;
    info.arena_bytes = plan->arena_bytes;
    info.nodes = plan->nodes.size();
    info.constant_bytes = plan->constant_bytes;
    info.state_bytes = plan->total_bytes - info.arena_bytes - info.constant_bytes;
    return info;
  });
}

void Model::set_profiling(bool on) {
  const auto scope = impl_->use(trainer::Use::set, "switch profiling");
  impl_->profile.clear();
  impl_->profiling = on;
}

std::vector<ProfileEntry> Model::profile() const {
  return guard_memory("report the profile", [&] {
    const std::lock_guard lock(impl_->profile_mutex);
    std::vector<ProfileEntry> entries;
    for (const auto& [op, entry] : impl_->profile) entries.push_back(entry);
    std::sort(entries.begin(), entries.end(),
              [](const ProfileEntry& a, const ProfileEntry& b) { return a.seconds > b.seconds; });
    return entries;
  });
}

std::vector<std::string> check_model(const std::filesystem::path& file,
                                     const LoadOptions& options) {
  return guard_memory("check the model", [&]() -> std::vector<std::string> {
    LoadOptions strict = options;
    strict.strict = true;
    graph::Findings findings;
    std::string message;
    findings.collect([&] {
      try {
        trainer::assemble(trainer::load_checked(file, strict).def, strict);
      } catch (const Error& error) {
        message = error.message();
        throw;
      }
    });
    if (message.find('\n') == std::string::npos) return findings.texts();
    // The message has one line per finding.
    std::vector<std::string> lines;
    std::string_view rest = message;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      lines.emplace_back(line);
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    }
    return lines;
  });
}

}  // namespace ondine
