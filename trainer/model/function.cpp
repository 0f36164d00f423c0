#include "trainer/model/function.h"

#include <algorithm>

#include "core/message.h"
#include "trainer/model/feeds.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

std::unordered_map<std::size_t, ValueId> Function::inputs_of_variables() const {
  std::unordered_map<std::size_t, ValueId> found;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].variable != InputSource::no_variable) {
      found.emplace(inputs[i].variable, graph->inputs[i]);
    }
  }
  return found;
}

Call& Function::call(std::span<const std::string> names, const Runtime& runtime) const {
  const std::lock_guard lock(*mutex);
  for (const auto& known : calls) {
    if (std::equal(names.begin(), names.end(), known->names().begin(), known->names().end())) {
      return *known;
    }
  }
  calls.push_back(std::make_unique<Call>(*this, names, runtime));
  return *calls.back();
}

void Function::gather(std::span<const NamedValue> feeds, const StateStore::Reader& state,
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
      fail(ErrorCode::not_found, "there is no input ", quoted(name), "; inputs are", names);
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
    } else if (input.fallback->defined()) {
      values[i] = *input.fallback;
    } else {
      fail(ErrorCode::mismatch, "input ", quoted(input_names[i]), " of type ",
           describe_type((*graph)[graph->inputs[i]].declared, *graph), " is not fed");
    }
  }
  check_feeds(*graph, dims, input_names, values);
}

}  // namespace ondine::trainer
