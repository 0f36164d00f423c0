// Where tokens meet: attention in its parts or as one operator.
#include <algorithm>

#include "core/message.h"
#include "core/to_doubles.h"
#include "graph/contract/op_def.h"
#include "trainer/text/caches/token_rules.h"

namespace ondine::text {

using namespace graph;  // NOLINT

namespace {

// Bounds on values that are added to scores: masks of hidden tokens add at most `hidden`; any other
// addend of masked scores is at most `visible`, so that it does not undo the mask.
constexpr double hidden = -1e8;
constexpr double visible = 1e6;

// Whether see(element) holds where, in a table [.., token, key], the key is a later token.
template <class See>
bool is_so_later(const Tensor& table, See&& see) {
  const Shape& shape = table.shape();
  if (shape.rank() < 2) return false;
  const std::int64_t keys = shape[shape.rank() - 1], rows = shape[shape.rank() - 2];
  const ReadElement read = element_reader(table.dtype());
  if (read == nullptr || keys != rows) return false;
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    const std::int64_t key = i % keys, row = i / keys % rows;
    if (key > row && !see(read(table.data(), static_cast<std::size_t>(i)))) return false;
  }
  return true;
}

}  // namespace

// Whether see() holds for all later tokens of a value that has both axes of the result, as its last
// two.
bool NodeTokens::all_later(ValueId id, const TokenAxes& result, bool (*see)(double)) const {
  const auto axes = view_.varying(id);
  if (!view_.is_length(id) || !axes || axes->size() != 2) return false;
  const std::size_t shift = rank_out() - rank(id);
  if ((*axes)[0] + shift != result.token || (*axes)[1] + shift != *result.key) return false;
  if (*result.key + 1 != rank_out() || result.token + 2 != rank_out()) return false;
  return is_so_later(lengths_.table(id), see);
}

bool NodeTokens::masks(const TokenAxes& result) const {
  const std::string_view op = node().op->name;
  if (op == "Add") {
    for (std::size_t i = 0; i < 2; ++i) {
      const bool adds = tokens(1 - i) != nullptr && tokens(i) == nullptr;
      if (adds && all_later(in(i), result, [](double x) { return x <= hidden; })) return true;
    }
  }
  if (op != "Where" || tokens(0) != nullptr) return false;
  // Where(seen, scores, low) and Where(hidden, low, scores).
  const auto is_low = [&](std::size_t i) {
    const auto number = view_.number(in(i));
    return number && *number <= hidden;
  };
  return (is_low(2) && all_later(in(0), result, [](double x) { return x == 0; })) ||
         (is_low(1) && all_later(in(0), result, [](double x) { return x != 0; }));
}

// Whether masked scores stay so.
bool NodeTokens::keeps_mask() const {
  const std::string_view op = node().op->name;
  if (op == "Identity") return tokens(0)->is_masked;
  if (op != "Add") return false;
  for (std::size_t i = 0; i < 2; ++i) {
    const TokenAxes* scores = tokens(1 - i);
    if (scores == nullptr || !scores->is_masked || tokens(i) != nullptr || !is_length(i)) continue;
    const auto values = to_doubles(lengths_.table(in(i)));
    if (values && std::ranges::all_of(*values, [](double x) { return x <= visible; })) return true;
  }
  return false;
}

// Whether weights that are 0 for later tokens stay so.
bool NodeTokens::keeps_causality() const {
  const std::string_view op = node().op->name;
  const auto is_causal = [&](std::size_t i) {
    return tokens(i) != nullptr && tokens(i)->is_causal;
  };
  const auto is_zero = [&](std::size_t i) { return view_.number(in(i)) == 0.0; };
  if (op == "Identity" || op == "Cast" || op == "Dropout") return is_causal(0);
  if (op == "Where") return (is_causal(1) || is_zero(1)) && (is_causal(2) || is_zero(2));
  if (op != "Mul" && op != "Div") return false;
  return is_causal(0) && tokens(1) == nullptr && view_.number(in(1)).has_value();
}

void NodeTokens::matmul() {
  require(attr_int("transA", 0) == 0, "multiplies turned tokens");
  const bool turned = attr_int("transB", 0) != 0;
  const TokenAxes* a = tokens(0);
  const TokenAxes* b = tokens(1);
  require(a != nullptr && !is_length(0) && !is_length(1), "multiplies by what tokens decide");
  const std::size_t rank = rank_in(0), token = rank - 2;
  require(rank >= 2 && a->token != rank - 1, "sums over tokens");
  if (b == nullptr) {
    require(!a->key || *a->key != rank - 1, "sums over tokens");
    const std::size_t shift = rank_out() - rank;
    return give(
        {.token = a->token + shift, .key = a->key ? std::optional(*a->key + shift) : a->key});
  }
  require(rank_in(1) == rank && !b->key && a->token == token, "multiplies tokens");
  const std::size_t columns = turned ? rank - 2 : rank - 1;
  const std::size_t rows = turned ? rank - 1 : rank - 2;
  if (!a->key) {
    require(b->token == columns, "multiplies tokens");
    sites_.seen.push_back({index_, 1, columns});
    return give({.token = token, .key = rank - 1});
  }
  require(*a->key == rank - 1 && b->token == rows, "multiplies tokens");
  require(a->is_causal, "reads later tokens");
  sites_.seen.push_back({index_, 1, rows});
  give({.token = token, .key = {}});
}

void NodeTokens::softmax() {
  require(version() >= 13, "is of a version that joins dims");
  const std::size_t axis = normalize_axis(attr_int("axis", -1), rank_in(0));
  const TokenAxes* x = tokens(0);
  if (!x->key || axis != *x->key) {
    require(axis != x->token && !x->key, "weighs tokens");
    return give({.token = x->token, .key = {}});
  }
  require(x->is_masked && node().op->name == "Softmax", "sees later tokens");
  require(axis + 1 == rank_in(0) && x->token + 2 == rank_in(0), "has another order of tokens");
  sites_.softmaxes.push_back(index_);
  TokenAxes result = *x;
  result.is_masked = false;
  result.is_causal = true;
  give(result);
}

void NodeTokens::attention() {
  require(input_count() >= 3 && !has_input(4) && !has_input(5) && !has_input(6),
          "has inputs that are not understood");
  require(!has_output(1) && !has_output(2) && !has_output(3), "has results of pairs of tokens");
  const std::size_t rank = rank_in(0), place = rank - 2;
  for (std::size_t i = 0; i < 3; ++i) {
    require(
        tokens(i) != nullptr && !tokens(i)->key && rank_in(i) == rank && tokens(i)->token == place,
        "reads what has no tokens");
  }
  const bool causal = attr_int("is_causal", 0) != 0;
  if (has_input(3)) {
    require(tokens(3) == nullptr, "has a mask by tokens");
    const auto axes = view_.varying(in(3));
    const std::size_t last = rank_in(3) - 1;
    require(is_length(3) && axes && *axes == std::vector<std::size_t>{last - 1, last} &&
                element_reader(lengths_.table(in(3)).dtype()) != nullptr,
            "has a mask of another shape");
    const Tensor& table = lengths_.table(in(3));
    const bool masked = is_so_later(
        table, [&](double x) { return table.dtype() == DType::boolean ? x == 0 : x <= hidden; });
    require(causal || masked, "sees later tokens");
    add_length_operand(3, last - 1, last);
  } else {
    require(causal, "sees later tokens");
  }
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    sites_.seen.push_back({index_, i, place});
  }
  sites_.attentions.push_back(index_);
  give({.token = place, .key = {}});
}

// Tables of angles by position, or rows of them.
void NodeTokens::rotary() {
  require_single();
  const std::size_t place = rank_in(0) == 4 ? 2 : 1;
  require(tokens(0)->token == place, "turns what has no tokens");
  for (std::size_t i = 1; i < input_count(); ++i) {
    if (!has_input(i)) continue;
    require(tokens(i) == nullptr, "turns by tokens");
    if (!is_length(i)) continue;
    const auto axes = view_.varying(in(i));
    require(axes && axes->size() <= 1 && (axes->empty() || axes->front() == 1),
            "has angles of another shape");
    add_length_operand(i, axes->empty() ? std::nullopt : std::optional<std::size_t>(1), {});
  }
  give({.token = place, .key = {}});
}

}  // namespace ondine::text
