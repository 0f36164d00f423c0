#include <algorithm>
#include <array>

#include <ondine/networks.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/training/preprocess/preprocess.h"
#include "proto/export.h"
#include "proto/import.h"
#include "trainer/networks/fresh.h"
#include "trainer/networks/kinds.h"

namespace ondine {
namespace {

constexpr const char* what = "make a network";
constexpr std::array<const char*, 5> kinds{"mlp", "cnn", "unet", "text", "audio"};
constexpr std::array<const char*, 3> targets{"classes", "labels", "numbers"};

template <class Enum, std::size_t Size>
Enum from_name(std::string_view name, const std::array<const char*, Size>& names,
               const char* noun) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<Enum>(found - names.begin());
  std::string all;
  for (const char* one : names) all += (all.empty() ? "" : ", ") + std::string(one);
  fail(ErrorCode::mismatch, "there is no ", noun, " ", quoted(name), "; there are ", all);
}

NetworkKind kind_for(const tune::Facts& facts) {
  switch (facts.kind) {
    case tune::RowKind::images:
      return facts.target.is_dense() ? NetworkKind::unet : NetworkKind::cnn;
    case tune::RowKind::recordings:
      return NetworkKind::audio;
    case tune::RowKind::texts:
      return NetworkKind::text;
    case tune::RowKind::numbers:
      return NetworkKind::mlp;
    case tune::RowKind::running_text:
      break;
  }
  fail(ErrorCode::mismatch,
       "there is no new network for running text; give a model of the next "
       "token");
}

void require_rows(const tune::Facts& facts, NetworkKind kind) {
  if (facts.rows.empty()) {
    fail(ErrorCode::mismatch, "a new network reads one column beside the targets ",
         quoted(facts.target.column), "; the data have several: give a model");
  }
  if (kind == NetworkKind::text && facts.kind != tune::RowKind::texts) {
    fail(ErrorCode::mismatch, "a text network needs texts with targets");
  }
  const bool reads_images = kind == NetworkKind::cnn || kind == NetworkKind::unet;
  if (reads_images && facts.kind != tune::RowKind::images) {
    fail(ErrorCode::mismatch, "a ", to_string(kind), " needs images");
  }
  const bool is_array = facts.kind == tune::RowKind::numbers ||
                        (facts.kind == tune::RowKind::images && !facts.are_files);
  if (kind == NetworkKind::mlp && !is_array) {
    fail(ErrorCode::mismatch, "an mlp needs rows of numbers");
  }
}

networks::Drawn draw(NetworkKind kind, const networks::Brief& brief) {
  switch (kind) {
    case NetworkKind::mlp:
      return networks::draw_mlp(brief);
    case NetworkKind::cnn:
      return networks::draw_cnn(brief);
    case NetworkKind::unet:
      return networks::draw_unet(brief);
    case NetworkKind::text:
      return networks::draw_text(brief);
    case NetworkKind::audio:
      return networks::draw_audio(brief);
  }
  fail(ErrorCode::mismatch, "there is no such kind of network");
}

}  // namespace

const char* to_string(NetworkKind kind) noexcept { return kinds[static_cast<std::size_t>(kind)]; }

NetworkKind network_kind_from_name(std::string_view name) {
  return from_name<NetworkKind>(name, kinds, "network");
}

const char* to_string(TargetKind kind) noexcept { return targets[static_cast<std::size_t>(kind)]; }

TargetKind target_kind_from_name(std::string_view name) {
  return from_name<TargetKind>(name, targets, "kind of targets");
}

void networks::require_row_targets(const Brief& brief, NetworkKind kind) {
  if (!brief.facts.target.is_dense()) return;
  fail(ErrorCode::mismatch, "the targets ", quoted(brief.facts.target.column),
       " are masks, which need a unet, not a network of kind ", to_string(kind));
}

void networks::write_output(Layers& layers, const std::string& x, const tune::TargetFacts& target,
                            std::vector<ModelBuilder::Dim> dims) {
  ModelBuilder& builder = layers.builder();
  if (target.kind != TargetKind::numbers) {
    builder.node("Identity", {x}, {}, "scores");
    builder.output("scores", DType::float32, std::move(dims));
    return;
  }
  const Shape shape{static_cast<std::int64_t>(target.scales.mean.size())};
  const std::string scaled =
      builder.node("Mul", {x, layers.numbers("target.deviation", target.scales.deviation, shape)});
  builder.node("Add", {scaled, layers.numbers("target.mean", target.scales.mean, shape)}, {},
               "prediction");
  builder.output("prediction", DType::float32, std::move(dims));
}

NetworkKind choose_network(const Dataset& data, const NetworkOptions& options) {
  return guard_memory(what, [&] { return kind_for(tune::look_at(data, options)); });
}

NewNetwork networks::make(std::optional<NetworkKind> asked, const Dataset& data,
                          const tune::Facts& facts, const NetworkOptions& options) {
  const NetworkKind kind = asked ? *asked : kind_for(facts);
  require_rows(facts, kind);
  Drawn drawn = draw(kind, {data, facts, options});
  graph::ModelDef model = load_model(drawn.builder.bytes());
  if (drawn.preprocess) graph::write_preprocess(model, *drawn.preprocess);
  mark_fresh(model.metadata, drawn.description);
  return {export_model(model), drawn.description + ", " + tune::describe(facts.target)};
}

NewNetwork new_network(NetworkKind kind, const Dataset& data, const NetworkOptions& options) {
  return guard_memory(
      what, [&] { return networks::make(kind, data, tune::look_at(data, options), options); });
}

NewNetwork new_network(const Dataset& data, const NetworkOptions& options) {
  return new_network(choose_network(data, options), data, options);
}

}  // namespace ondine
