#include "trainer/callable.h"

#include <algorithm>

#include "core/message.h"
#include "trainer/feeds.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

namespace {

ValueId find_output(const Callable& callable, const std::string& name) {
  for (const NamedOutput& output : callable.outputs) {
    if (output.name == name) return output.value;
  }
  std::string known;
  for (const NamedOutput& output : callable.outputs) known += " " + quoted(output.name);
  fail(ErrorCode::mismatch, "there is no output ", quoted(name), "; outputs are", known);
}

// An update that a node computes for nothing else but one variable goes right into its memory.
std::vector<bool> direct_updates(const Callable& callable, const std::vector<ValueId>& fetched) {
  const Graph& graph = *callable.graph;
  std::vector<int> claims(graph.values.size(), 0);
  for (const Update& update : callable.updates) ++claims[static_cast<std::size_t>(update.value)];
  std::vector<bool> produced(graph.values.size());
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id != no_value) produced[static_cast<std::size_t>(id)] = true;
    }
  }
  std::vector<bool> direct;
  for (const Update& update : callable.updates) {
    const auto index = static_cast<std::size_t>(update.value);
    const bool fetched_too =
        std::find(fetched.begin(), fetched.end(), update.value) != fetched.end();
    const Type& type = graph[update.value].type;
    direct.push_back(claims[index] == 1 && produced[index] && !fetched_too && type.is_tensor() &&
                     type.dtype != DType::string);
  }
  return direct;
}

}  // namespace

ValueId Callable::input_of(std::size_t variable) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].variable == variable) return graph->inputs[i];
  }
  return no_value;
}

const Selection& Callable::select(std::span<const std::string> names,
                                  const Runtime& runtime) const {
  const std::lock_guard lock(*mutex);
  for (const auto& selection : selections) {
    if (std::equal(names.begin(), names.end(), selection->names.begin(), selection->names.end())) {
      return *selection;
    }
  }
  auto selection = std::make_unique<Selection>();
  selection->names.assign(names.begin(), names.end());
  for (const std::string& name : names) selection->values.push_back(find_output(*this, name));
  selection->direct = direct_updates(*this, selection->values);
  Wanted wanted;
  wanted.values = selection->values;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    wanted.values.push_back(updates[i].value);
    if (selection->direct[i]) {
      wanted.targets.push_back(updates[i].value);
    } else {
      wanted.next_bytes += bytes_of((*graph)[updates[i].value].type);
    }
  }
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const ValueId input = selection->direct[i] ? input_of(updates[i].variable) : no_value;
    wanted.in_place.push_back({updates[i].value, input});
  }
  wanted.commit_last = runtime.updates == UpdatePolicy::atomic;
  selection->program = std::make_unique<Program>(graph, std::move(wanted), runtime);
  selections.push_back(std::move(selection));
  return *selections.back();
}

void Callable::gather(std::span<const NamedValue> feeds, const StateStore::Reader& state,
                      std::vector<Value>& values) const {
  for (const auto& [name, value] : feeds) {
    bool known = std::find(unread_inputs.begin(), unread_inputs.end(), name) != unread_inputs.end();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      known = known || (inputs[i].declared && input_names[i] == name);
    }
    if (!known) {
      std::string names;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].declared) names += " " + quoted(input_names[i]);
      }
      fail(ErrorCode::mismatch, "there is no input ", quoted(name), "; inputs are", names);
    }
  }
  values.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const InputSource& input = inputs[i];
    const auto fed = std::find_if(feeds.begin(), feeds.end(), [&](const NamedValue& feed) {
      return input.declared && feed.first == input_names[i];
    });
    if (fed != feeds.end()) {
      values[i] = fed->second;
    } else if (input.variable != InputSource::no_variable) {
      values[i] = state[input.variable];
    } else if (input.fallback.defined()) {
      values[i] = input.fallback;
    } else {
      fail(ErrorCode::mismatch, "input ", quoted(input_names[i]), " of type ",
           describe_type((*graph)[graph->inputs[i]].declared, *graph), " is not fed");
    }
  }
  check_feeds(*graph, input_names, values);
}

}  // namespace ondine::trainer
