// A model file -> lower -> load: the lowered step gives what the step gives.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <ondine/lower.h>

#include "proto/import.h"
#include "tests/fuzz/close_values.h"
#include "tests/fuzz/random_operators.h"
#include "tests/fuzz/settings.h"
#include "tests/fuzz/try_model.h"
#include "tests/fuzz/usual_feeds.h"

namespace {

using namespace ondine;
using test::Choices;
using test::Fault;

NamedValues state_of(const Model& model) {
  NamedValues state;
  for (const StateInfo& one : model.state()) {
    state.emplace_back(one.name, model.get_state(one.name).clone());
  }
  return state;
}

const Value* find(const NamedValues& values, const std::string& name) {
  const auto found = std::ranges::find(values, name, &NamedValue::first);
  return found == values.end() ? nullptr : &found->second;
}

struct Step {
  NamedValues results;
  NamedValues state;
};

// The step from `state`, which the model has again afterwards.
std::optional<Step> step_of(Model& model, const NamedValues& feeds, std::size_t algorithm,
                            const NamedValues& state) {
  Step step;
  if (test::refuses([&] { step.results = model.train_step(feeds, algorithm); })) return {};
  step.state = state_of(model);
  model.set_state(state);
  return step;
}

NamedValues disturbed(const NamedValues& values) {
  NamedValues result;
  for (const auto& [name, value] : values) {
    if (!value.is_tensor() || value.tensor().dtype() != DType::float32) {
      result.emplace_back(name, value);
      continue;
    }
    Tensor tensor = value.tensor().clone();
    for (float& element : tensor.mutable_values<float>()) element *= 1 + 0x1p-20F;
    result.emplace_back(name, tensor);
  }
  return result;
}

// An Error of what has to work becomes a Fault, but for limits, which lowered models reach sooner.
template <class Call>
bool works(const char* what, Call&& call) {
  try {
    call();
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::limit || error.code() == ErrorCode::cancelled) return false;
    throw Fault(std::string(what) + ": " + error.what());
  }
}

void compare(const std::string& name, const Value* got, const Value* wanted, const Value* moved) {
  if (got == nullptr || wanted == nullptr || moved == nullptr) throw Fault("no value " + name);
  if (!test::close_values(*got, *wanted, *moved)) throw Fault("lowered, " + name + " differs");
}

void try_lowered(Model& model, bool random, const LowerOptions& options, Choices& choices) {
  LowerReport report;
  std::vector<std::byte> bytes;
  if (test::refuses([&] { bytes = lower(model, options, &report); })) return;
  LoadOptions wide = test::narrow_options();
  wide.limits.nodes *= 16;
  std::optional<Model> plain;
  if (!works("the lowered model does not load", [&] { plain.emplace(Model::load(bytes, wide)); })) {
    return;
  }
  plain->set_deadline(std::chrono::milliseconds(1000));
  const NamedValues feeds = test::usual_feeds(choices, model.algorithm(options.algorithm).inputs);
  const NamedValues state = state_of(model);
  const auto step = step_of(model, feeds, options.algorithm, state);
  if (!step) return;
  const auto moved = step_of(model, disturbed(feeds), options.algorithm, state);
  if (!moved) return;
  NamedValues given;
  for (const std::string& name : report.feeds) {
    if (const Value* fed = find(feeds, name)) given.emplace_back(name, *fed);
  }
  // A state variable that is an input may be fed.
  for (const std::string& name : report.state) {
    const Value* fed = find(feeds, name);
    given.emplace_back(name, fed != nullptr ? *fed : *find(state, name));
  }
  NamedValues lowered;
  const auto run = [&] { lowered = plain->infer(given); };
  if (random) {
    test::refuses(run);
    return;
  }
  if (!works("the lowered step fails", run)) return;
  // In the order of the step's; what is an input too has another name.
  if (report.results.size() != step->results.size()) throw Fault("lowered, results are missing");
  for (std::size_t i = 0; i < report.results.size(); ++i) {
    const auto& [name, wanted] = step->results[i];
    compare(name, find(lowered, report.results[i]), &wanted, &moved->results[i].second);
  }
  for (const auto& [variable, output] : report.next_state) {
    compare(variable, find(lowered, output), find(step->state, variable),
            find(moved->state, variable));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  graph::ModelDef def;
  std::optional<Model> model;
  if (test::refuses([&] {
        def = load_model(bytes, test::narrow_options().limits);
        model.emplace(Model::load(bytes, test::narrow_options()));
      })) {
    return 0;
  }
  model->set_deadline(std::chrono::milliseconds(500));
  const auto settings = test::settings_of(def);
  Choices choices(settings);
  const bool random = test::has_random_operators(def);
  for (std::size_t i = 0; i < std::min<std::size_t>(model->algorithm_count(), 2); ++i) {
    LowerOptions options;
    options.algorithm = i;
    if (choices.once_in(3)) options.opset = 18 + static_cast<std::int64_t>(choices.below(9));
    try_lowered(*model, random, options, choices);
  }
  return 0;
}
