#include "trainer/text/tokenizer/merges.h"

#include <algorithm>

#include "core/message.h"
#include "core/stop.h"

namespace ondine::text::tokenizer {
namespace {

constexpr std::size_t most_merges = std::size_t{1} << 22;

struct Pair {
  Id left;
  Merge merge;
};

std::pair<std::string_view, std::string_view> sides_of(const JsonView& json) {
  if (json.kind() != JsonKind::list) {
    const std::string_view text = json.text();
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
      fail(ErrorCode::corrupt, quoted(json.path()), " ", quoted(text), " is no pair of tokens");
    }
    return {text.substr(0, space), text.substr(space + 1)};
  }
  std::vector<std::string_view> sides;
  if (json.count() == 2) json.each_item([&](const JsonView& one) { sides.push_back(one.text()); });
  if (sides.size() != 2) fail(ErrorCode::corrupt, quoted(json.path()), " is no pair of tokens");
  return {sides[0], sides[1]};
}

Pair read_pair(const JsonView& json, const Vocabulary& vocabulary, std::size_t prefix) {
  const auto [left, right] = sides_of(json);
  const auto id_of = [&](std::string_view token) {
    const Id id = vocabulary.find(token);
    if (id != no_id) return id;
    fail(ErrorCode::corrupt, quoted(json.path()), " has token ", quoted(token),
         ", which the vocabulary lacks");
  };
  const Id left_id = id_of(left);
  const Id right_id = id_of(right);
  if (right.size() < prefix) {
    fail(ErrorCode::corrupt, quoted(json.path()), " has no continuing_subword_prefix");
  }
  return {left_id, {right_id, id_of(cat(left, right.substr(prefix))), 0}};
}

}  // namespace

Merges::Merges(const JsonView& json, const Vocabulary& vocabulary, std::size_t prefix) {
  json.require(JsonKind::list);
  if (json.count() > most_merges) {
    fail(ErrorCode::limit, "there are ", json.count(), " merges, more than ", most_merges);
  }
  std::vector<Pair> pairs;
  pairs.reserve(json.count());
  json.each_item([&](const JsonView& one) {
    checkpoint(256);
    if (one.kind() == JsonKind::text && one.text().starts_with("#version")) return;
    Pair pair = read_pair(one, vocabulary, prefix);
    pair.merge.rank = static_cast<std::uint32_t>(pairs.size());
    pairs.push_back(pair);
  });
  // Sorts equal pairs by rank: the last one counts.
  const auto before = [](const Pair& a, const Pair& b) {
    if (a.left != b.left) return a.left < b.left;
    if (a.merge.right != b.merge.right) return a.merge.right < b.merge.right;
    return a.merge.rank < b.merge.rank;
  };
  sort_checked(std::ssize(pairs), before,
               [&](const auto& less) { std::sort(pairs.begin(), pairs.end(), less); });
  begins_.assign(vocabulary.tokens().size() + 1, 0);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const bool is_repeated = i + 1 < pairs.size() && pairs[i + 1].left == pairs[i].left &&
                             pairs[i + 1].merge.right == pairs[i].merge.right;
    if (is_repeated) continue;
    merges_.push_back(pairs[i].merge);
    begins_[static_cast<std::size_t>(pairs[i].left) + 1] =
        static_cast<std::uint32_t>(merges_.size());
  }
  for (std::size_t i = 1; i < begins_.size(); ++i) {
    begins_[i] = std::max(begins_[i], begins_[i - 1]);
  }
}

}  // namespace ondine::text::tokenizer
