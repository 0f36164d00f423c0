#include "trainer/hugging_face/sentence.h"

#include <array>
#include <string_view>
#include <utility>

#include "core/message.h"
#include "trainer/hugging_face/config.h"
#include "trainer/hugging_face/read_text.h"

namespace ondine::hugging_face {
namespace {

constexpr const char* modules_file = "modules.json";
constexpr std::uint64_t most_modules_bytes = std::uint64_t{1} << 20;

struct Mode {
  std::string_view name;
  std::string_view flag;
  Pooling pooling;
};
constexpr std::array<Mode, 4> modes{{
    {"cls", "pooling_mode_cls_token", Pooling::first},
    {"mean", "pooling_mode_mean_tokens", Pooling::mean},
    {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", Pooling::mean_by_root},
    {"max", "pooling_mode_max_tokens", Pooling::maximum},
}};
constexpr const char* known_modes = "supported are cls, mean, max and mean_sqrt_len_tokens, alone";

// "sentence_transformers.models.Pooling": Pooling.
std::string kind_of(const Config& module) {
  const std::string type = module.text_or("type", "");
  return type.substr(type.rfind('.') + 1);
}

Pooling pooling_of(const Config& config) {
  const std::string name = config.text_or("pooling_mode", "");
  std::optional<Pooling> found;
  for (const Mode& mode : modes) {
    const bool is_on = name.empty() ? config.flag_or(mode.flag, false) : name == mode.name;
    if (!is_on) continue;
    if (found) fail(ErrorCode::unsupported, "there are several ways of pooling; ", known_modes);
    found = mode.pooling;
  }
  for (const char* other : {"pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"}) {
    config.require_absent(other);
  }
  if (!found) fail(ErrorCode::unsupported, "the way of pooling is not known; ", known_modes);
  return *found;
}

void read_pooling(const std::filesystem::path& folder, const Config& module, SentenceModules& to) {
  const std::string name = module.text_or("path", "");
  const std::filesystem::path path(name);
  if (name.empty() || path.has_parent_path() || name == "." || name == "..") {
    fail(ErrorCode::corrupt, module.member("path"), " is no name of a folder");
  }
  const std::string file = name + "/config.json";
  const Config config = read_config(folder / file, file);
  with_context([&] { to.pooling = pooling_of(config); }, [&] { return file; });
  to.width = config.integer("word_embedding_dimension").value_or(0);
}

SentenceModules read_modules(const std::filesystem::path& folder, const graph::JsonValue& list) {
  if (list.kind != graph::JsonValue::Kind::list) fail(ErrorCode::corrupt, "is no JSON list");
  SentenceModules result;
  std::size_t at = 0;
  constexpr std::array<std::string_view, 3> order{"Transformer", "Pooling", "Normalize"};
  for (const graph::JsonValue& item : list.items) {
    const Config module(item, cat("[", &item - list.items.data(), "]."));
    const std::string kind = kind_of(module);
    if (kind == "Dropout") continue;  // of training alone
    if (at == order.size() || kind != order[at]) {
      fail(ErrorCode::unsupported, module.member("type"), " is ", quoted(kind),
           "; supported are Transformer, Pooling and perhaps Normalize, in this order");
    }
    if (kind == "Pooling") read_pooling(folder, module, result);
    result.normalizes = kind == "Normalize";
    ++at;
  }
  if (at < 2) fail(ErrorCode::mismatch, "has no Pooling after the Transformer");
  return result;
}

}  // namespace

std::optional<SentenceModules> read_sentence_modules(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / modules_file)) return {};
  return with_context(
      [&] {
        return read_modules(
            folder, graph::parse_json(read_text(folder / modules_file, most_modules_bytes)));
      },
      [] { return modules_file; });
}

std::string pool_sentences(Network& n, const SentenceModules& modules, const std::string& states,
                           const std::string& real) {
  const graph::Attributes drops{{"keepdims", std::int64_t{0}}};
  const std::string axis = n.integers({1});
  std::string x;
  if (modules.pooling == Pooling::first) {
    x = n.node("Gather", {states, n.integer(0)}, {{"axis", std::int64_t{1}}});
  } else if (modules.pooling == Pooling::maximum) {
    const std::string kept = n.node("Unsqueeze", {real, n.integers({2})});
    x = n.node("ReduceMax", {n.node("Where", {kept, states, n.number(-1e9)}), axis}, drops);
  } else {
    const std::string weights =
        n.node("Cast", {real}, {{"to", static_cast<std::int64_t>(DType::float32)}});
    const std::string spread = n.node("Unsqueeze", {weights, n.integers({2})});
    const std::string sum = n.node("ReduceSum", {n.node("Mul", {states, spread}), axis}, drops);
    std::string count = n.node("ReduceSum", {weights, axis}, {{"keepdims", std::int64_t{1}}});
    count = n.node("Max", {count, n.number(1e-9)});
    if (modules.pooling == Pooling::mean_by_root) count = n.node("Sqrt", {count});
    x = n.node("Div", {sum, count});
  }
  if (!modules.normalizes) return x;
  const std::string length = n.node("ReduceL2", {x, axis}, {{"keepdims", std::int64_t{1}}});
  return n.node("Div", {x, n.node("Max", {length, n.number(1e-12)})});
}

}  // namespace ondine::hugging_face
