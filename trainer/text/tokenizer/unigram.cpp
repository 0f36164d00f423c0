// Unigram (T. Kudo, ACL 2018) as a tokenizer.json has it: scores are doubles, and neighbours that
// are unknown are one token.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/message.h"
#include "core/stop.h"
#include "trainer/text/pieces/best_path.h"
#include "trainer/text/pieces/words.h"
#include "trainer/text/tokenizer/model.h"

namespace ondine::text::tokenizer {
namespace {

constexpr double unknown_penalty = 10;

struct Scored {
  std::vector<std::string> tokens;
  std::vector<double> scores;
};

Scored read_tokens(const JsonView& json) {
  Scored result;
  json.require(JsonKind::list);
  if (json.count() > static_cast<std::size_t>(most_ids)) {
    fail(ErrorCode::limit, "it has more than ", most_ids, " tokens");
  }
  json.each_item([&](const JsonView& pair) {
    checkpoint(64);
    pair.require(JsonKind::list);
    if (pair.count() != 2) {
      fail(ErrorCode::corrupt, quoted(pair.path()), " is no token with its score");
    }
    bool is_first = true;
    pair.each_item([&](const JsonView& one) {
      if (is_first) {
        check_token(one.text());
        result.tokens.emplace_back(one.text());
      } else {
        result.scores.push_back(one.number());
      }
      is_first = false;
    });
    if (!std::isfinite(result.scores.back())) {
      fail(ErrorCode::corrupt, quoted(pair.path()), " has a score that is not finite");
    }
  });
  return result;
}

struct Paths final : Model::Scratch {
  BestPath<double> path;
  std::vector<Segment> segments;
};

class Unigram final : public Model {
 public:
  explicit Unigram(const JsonView& json) : Unigram(json, read_tokens(json.at("vocab"))) {}

  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Paths>(); }

  void append(std::string_view word, Scratch& scratch, Ids& ids) const override {
    if (word.size() > most_bytes) {
      fail(ErrorCode::limit, "a part of the text that must be cut as a whole has ", word.size(),
           " bytes, more than ", most_bytes);
    }
    auto& paths = static_cast<Paths&>(scratch);
    paths.segments.clear();
    const auto score = [&](std::size_t, Id id, double& value) {
      value = scores_[static_cast<std::size_t>(id)];
      return true;
    };
    paths.path.append(vocabulary_.trie(), word, {unknown_, unknown_score_}, score, paths.segments);
    const std::vector<Segment>& segments = paths.segments;
    for (std::size_t i = 0; i < segments.size();) {
      if (segments[i].id != unknown_) {
        ids.push_back(segments[i++].id);
        continue;
      }
      const char* begin = segments[i].text.data();
      while (i < segments.size() && segments[i].id == unknown_) ++i;
      const char* end = segments[i - 1].text.data() + segments[i - 1].text.size();
      append_unknown({begin, static_cast<std::size_t>(end - begin)}, ids);
    }
  }

  const Vocabulary& vocabulary() const noexcept override { return vocabulary_; }
  Id unknown() const noexcept override { return unknown_; }

 private:
  static constexpr std::size_t most_bytes = std::size_t{1} << 26;

  Unigram(const JsonView& json, Scored tokens)
      : scores_(std::move(tokens.scores)),
        vocabulary_(std::move(tokens.tokens)),
        has_bytes_(json.flag_or("byte_fallback", false)) {
    json.allow_only({"unk_id", "vocab", "byte_fallback"});
    if (scores_.empty()) fail(ErrorCode::corrupt, "it has no tokens");
    if (json.has("unk_id")) {
      unknown_ = static_cast<Id>(json.at("unk_id").integer(most_ids));
      if (static_cast<std::size_t>(unknown_) >= scores_.size()) {
        fail(ErrorCode::corrupt, quoted(json.path() + ".unk_id"), " is ", unknown_, ", there are ",
             scores_.size(), " tokens");
      }
    }
    unknown_score_ = *std::min_element(scores_.begin(), scores_.end()) - unknown_penalty;
  }

  void append_unknown(std::string_view text, Ids& ids) const {
    if (const Id id = vocabulary_.find(text); id != no_id) {
      ids.push_back(id);
      return;
    }
    const auto byte_of = [&](char c) { return vocabulary_.byte(static_cast<unsigned char>(c)); };
    const bool has_all = has_bytes_ && std::all_of(text.begin(), text.end(),
                                                   [&](char c) { return byte_of(c) != no_id; });
    if (has_all) {
      for (const char c : text) ids.push_back(byte_of(c));
      return;
    }
    if (unknown_ == no_id) {
      fail(ErrorCode::mismatch, "no tokens stand for ", quoted(text),
           ", and the model has no token for the unknown");
    }
    ids.push_back(unknown_);
  }

  std::vector<double> scores_;
  Vocabulary vocabulary_;
  bool has_bytes_;
  Id unknown_ = no_id;
  double unknown_score_ = 0;
};

}  // namespace

std::unique_ptr<const Model> make_unigram(const JsonView& json) {
  return std::make_unique<Unigram>(json);
}

}  // namespace ondine::text::tokenizer
