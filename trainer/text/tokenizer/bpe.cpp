// Byte pair encoding (R. Sennrich et al., ACL 2016) as a tokenizer.json has it.
#include <algorithm>
#include <array>

#include "core/message.h"
#include "core/stop.h"
#include "core/text/utf8.h"
#include "trainer/text/pieces/words.h"
#include "trainer/text/tokenizer/merges.h"
#include "trainer/text/tokenizer/model.h"

namespace ondine::text::tokenizer {
namespace {

constexpr std::int32_t none = -1;

struct Symbol {
  Id id;  // no_id once it was merged into its left neighbour
  std::int32_t previous;
  std::int32_t next;
};

// Two neighbours that are merged to one token, unless one of them has changed since.
struct Candidate {
  std::uint32_t rank;
  std::int32_t left;
  Id merged;

  // For a heap whose top is the first one to merge.
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

struct Word final : Model::Scratch {
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  std::string text;  // of a character with prefix or suffix

  void add(Id id) {
    const auto at = static_cast<std::int32_t>(symbols.size());
    if (at > 0) symbols.back().next = at;
    symbols.push_back({id, at - 1, none});
  }
};

void consider(const Merges& merges, Word& word, std::int32_t left, std::int32_t right) {
  if (left == none || right == none) return;
  const Symbol& symbol = word.symbols[static_cast<std::size_t>(left)];
  const Merge* merge = merges.find(symbol.id, word.symbols[static_cast<std::size_t>(right)].id);
  if (merge == nullptr) return;
  word.heap.push_back({merge->rank, left, merge->merged});
  std::push_heap(word.heap.begin(), word.heap.end());
}

void merge_all(const Merges& merges, Word& word) {
  word.heap.clear();
  for (std::size_t i = 1; i < word.symbols.size(); ++i) {
    const Merge* merge = merges.find(word.symbols[i - 1].id, word.symbols[i].id);
    if (merge == nullptr) continue;
    word.heap.push_back({merge->rank, static_cast<std::int32_t>(i - 1), merge->merged});
  }
  std::make_heap(word.heap.begin(), word.heap.end());
  while (!word.heap.empty()) {
    checkpoint(64);
    const Candidate best = word.heap.front();
    std::pop_heap(word.heap.begin(), word.heap.end());
    word.heap.pop_back();
    Symbol& left = word.symbols[static_cast<std::size_t>(best.left)];
    if (left.id == no_id || left.next == none) continue;
    Symbol& right = word.symbols[static_cast<std::size_t>(left.next)];
    const Merge* merge = merges.find(left.id, right.id);
    if (merge == nullptr || merge->merged != best.merged) continue;
    left.id = best.merged;
    left.next = right.next;
    right.id = no_id;
    if (right.next != none) word.symbols[static_cast<std::size_t>(right.next)].previous = best.left;
    consider(merges, word, left.previous, best.left);
    consider(merges, word, best.left, left.next);
  }
}

class Bpe final : public Model {
 public:
  explicit Bpe(const JsonView& json)
      : vocabulary_(json.at("vocab")),
        prefix_(json.text_or("continuing_subword_prefix", "")),
        suffix_(json.text_or("end_of_word_suffix", "")),
        merges_(json.at("merges"), vocabulary_, prefix_.size()),
        fuses_(json.flag_or("fuse_unk", false)),
        has_bytes_(json.flag_or("byte_fallback", false)),
        ignores_merges_(json.flag_or("ignore_merges", false)),
        has_unknown_(json.has("unk_token")),
        unknown_(vocabulary_.find(json.text_or("unk_token", ""))) {
    json.allow_only({"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                     "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
    if (json.has("dropout") && json.at("dropout").number() != 0) {
      fail(ErrorCode::unsupported, quoted(json.path() + ".dropout"), " is not 0");
    }
    for (char32_t c = 0; c < characters_.size(); ++c) {
      std::string text;
      if (c > 0) append_utf8(text, c);
      characters_[c] = vocabulary_.find(text);
    }
    stays_ = prefix_.empty() && suffix_.empty() && !ignores_merges_ &&
             vocabulary_.find(space_symbol) != no_id &&
             std::all_of(merges_.all().begin(), merges_.all().end(), [&](const Merge& merge) {
               const auto id = static_cast<std::size_t>(merge.merged);
               return text::word_end(vocabulary_.tokens()[id], 0) == std::string::npos;
             });
  }

  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Word>(); }

  void append(std::string_view text, Scratch& scratch, Ids& ids) const override {
    if (ignores_merges_) {
      if (const Id id = vocabulary_.find(text); id != no_id) {
        ids.push_back(id);
        return;
      }
    }
    auto& word = static_cast<Word&>(scratch);
    word.symbols.clear();
    // 44 bytes for each of the text, at most.
    if (text.size() > most_bytes) {
      fail(ErrorCode::limit, "a part of the text that must be cut as a whole has ", text.size(),
           " bytes, more than ", most_bytes);
    }
    add_characters(text, word);
    merge_all(merges_, word);
    for (const Symbol& symbol : word.symbols) {
      if (symbol.id != no_id) ids.push_back(symbol.id);
    }
  }

  const Vocabulary& vocabulary() const noexcept override { return vocabulary_; }
  Id unknown() const noexcept override { return unknown_; }
  bool stays_in_words() const noexcept override { return stays_; }

 private:
  static constexpr std::size_t most_bytes = std::size_t{1} << 26;

  Id id_of(std::string_view text, bool is_first, bool is_last, std::string& buffer) const {
    const bool is_plain = (is_first || prefix_.empty()) && (!is_last || suffix_.empty());
    if (is_plain) {
      const CodePoint c = decode_utf8(text);
      return c.value < characters_.size() ? characters_[c.value] : vocabulary_.find(text);
    }
    buffer = is_first ? std::string() : prefix_;
    buffer += text;
    if (is_last) buffer += suffix_;
    return vocabulary_.find(buffer);
  }

  bool add_bytes(std::string_view text, Word& word) const {
    const bool are_known = std::all_of(text.begin(), text.end(), [&](char c) {
      return vocabulary_.byte(static_cast<unsigned char>(c)) != no_id;
    });
    if (!are_known) return false;
    for (const char c : text) word.add(vocabulary_.byte(static_cast<unsigned char>(c)));
    return true;
  }

  // The unknown one waits for the next known character, even behind bytes, as in the `tokenizers`
  // package.
  void add_characters(std::string_view text, Word& word) const {
    bool has_waiting = false;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t bytes = decode_utf8(text.substr(at)).bytes;
      const std::string_view character = text.substr(at, bytes);
      const bool is_first = at == 0;
      at += bytes;
      const Id id = id_of(character, is_first, at == text.size(), word.text);
      if (id != no_id) {
        if (has_waiting) word.add(unknown_);
        has_waiting = false;
        word.add(id);
        continue;
      }
      const bool is_affixed =
          (!is_first && !prefix_.empty()) || (at == text.size() && !suffix_.empty());
      if (has_bytes_ && add_bytes(is_affixed ? word.text : character, word)) continue;
      if (!has_unknown_) continue;
      if (unknown_ == no_id) {
        fail(ErrorCode::mismatch, "no token stands for ", quoted(character),
             ", and the vocabulary lacks the token for the unknown");
      }
      if (has_waiting && !fuses_) word.add(unknown_);
      has_waiting = true;
    }
    if (has_waiting) word.add(unknown_);
  }

  Vocabulary vocabulary_;
  std::string prefix_;
  std::string suffix_;
  Merges merges_;
  bool fuses_;
  bool has_bytes_;
  bool ignores_merges_;
  bool has_unknown_;
  Id unknown_;
  bool stays_ = false;
  std::array<Id, 0x800> characters_{};
};

}  // namespace

std::unique_ptr<const Model> make_bpe(const JsonView& json) { return std::make_unique<Bpe>(json); }

}  // namespace ondine::text::tokenizer
