#include "tests/fuzz/try_model.h"

#include <map>
#include <optional>

#include "tests/fuzz/any_value.h"

namespace ondine::test {
namespace {

Value any_feed(Choices& choices, const PortInfo& port) {
  Shape shape{2, 3};
  if (port.dims) {
    std::vector<std::int64_t> dims = *port.dims;
    for (std::int64_t& dim : dims) {
      if (dim < 0 || choices.once_in(40)) dim = 1 + static_cast<std::int64_t>(choices.below(3));
      dim = std::min<std::int64_t>(dim, 64);
    }
    if (dims.size() > 6) dims.resize(6);
    shape = Shape(std::span<const std::int64_t>(dims));
  } else {
    shape = any_shape(choices, shape);
  }
  if (shape.size() > 4096) shape = Shape{1};
  const auto tensor = [&](DType dtype) { return any_tensor(choices, dtype, shape); };
  // "seq(tensor(float))", "optional(tensor(float))[...]"
  const std::size_t inner = port.type.find("tensor(");
  DType dtype = port.dtype;
  if (dtype == DType::undefined && inner != std::string::npos) {
    const std::size_t first = inner + 7;
    dtype = dtype_from_string(port.type.substr(first, port.type.find(')', first) - first));
  }
  if (dtype == DType::undefined || choices.once_in(60)) dtype = DType::float32;
  if (port.type.starts_with("seq(")) {
    std::vector<Value> elements;
    for (std::size_t n = choices.below(4); n > 0; --n) elements.emplace_back(tensor(dtype));
    return Value::sequence(std::move(elements));
  }
  if (port.type.starts_with("optional(")) {
    if (choices.once_in(2)) return Value::optional();
    Value element = tensor(dtype);
    if (port.type.starts_with("optional(seq(")) element = Value::sequence({std::move(element)});
    return Value::optional(std::move(element));
  }
  return tensor(dtype);
}

NamedValues any_feeds(Choices& choices, const std::vector<PortInfo>& ports) {
  NamedValues feeds;
  for (const PortInfo& port : ports) {
    if (port.has_default && choices.once_in(2)) continue;
    if (choices.once_in(50)) continue;
    feeds.emplace_back(port.name, any_feed(choices, port));
  }
  return feeds;
}

std::map<std::string, Tensor> state_of(const Model& model) {
  std::map<std::string, Tensor> state;
  for (const StateInfo& info : model.state()) state[info.name] = model.get_state(info.name);
  return state;
}

bool same(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  for (const auto& [name, value] : a) {
    if (!value.identical(b.at(name))) return false;
  }
  return a.size() == b.size();
}

bool same(const NamedValues& a, const NamedValues& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].second.kind() != b[i].second.kind()) return false;
    if (a[i].second.is_tensor() && !a[i].second.tensor().identical(b[i].second.tensor())) {
      return false;
    }
  }
  return a.size() == b.size();
}

}  // namespace

LoadOptions narrow_options() {
  LoadOptions options;
  options.limits.parse_bytes = std::uint64_t{64} << 20;
  options.limits.tensor_bytes = std::uint64_t{16} << 20;
  options.limits.weight_bytes = std::uint64_t{16} << 20;
  options.limits.arena_bytes = std::uint64_t{32} << 20;
  options.limits.fold_bytes = std::uint64_t{1} << 20;
  options.limits.einsum_points = std::uint64_t{1} << 24;
  options.limits.loop_iterations = 1000;
  options.limits.nodes = 20'000;
  options.limits.subgraph_depth = 8;
  options.limits.call_depth = 8;
  return options;
}

Trial try_model(std::span<const std::byte> bytes, Choices& choices) {
  Trial trial;
  std::optional<Model> model;
  trial.loaded =
      !refuses([&] { model.emplace(Model::load(bytes, narrow_options())); }, &trial.refusal);
  if (!trial.loaded) return trial;
  model->set_deadline(std::chrono::milliseconds(500));
  for (int round = 0; round < 2; ++round) {
    const NamedValues feeds = any_feeds(choices, model->inputs());
    NamedValues first;
    if (refuses([&] { first = model->infer(feeds); }, &trial.refusal)) continue;
    trial.inferred = true;
    NamedValues second;
    const bool refused = refuses([&] { second = model->infer(feeds); }, &trial.refusal);
    if (!refused && !same(first, second)) throw Fault("the same call gave other results");
  }
  refuses([&] { model->initialize(choices.byte()); });
  const std::size_t algorithms = std::min<std::size_t>(model->algorithm_count(), 3);
  for (std::size_t i = 0; i < algorithms; ++i) {
    const NamedValues feeds = any_feeds(choices, model->algorithm(i).inputs);
    const auto before = state_of(*model);
    const std::uint64_t steps = model->steps();
    const bool refused = refuses([&] { model->train_step(feeds, i); }, &trial.refusal);
    trial.trained = trial.trained || !refused;
    if (refused && !same(before, state_of(*model))) throw Fault("a failed step changed the state");
    if (model->steps() != steps + (refused ? 0 : 1)) throw Fault("steps are miscounted");
  }
  return trial;
}

}  // namespace ondine::test
