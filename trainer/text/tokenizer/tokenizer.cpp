#include "trainer/text/tokenizer/tokenizer.h"

#include <algorithm>

#include "core/message.h"
#include "core/stop.h"
#include "core/text/utf8.h"
#include "trainer/text/pieces/words.h"
#include "trainer/text/tokenizer/regex.h"
#include "trainer/text/tokenizer/unicode.h"

namespace ondine::text::tokenizer {
namespace {

constexpr std::size_t most_file_bytes = std::size_t{64} << 20;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

}  // namespace

// Takes a workspace from the tokenizer and gives it back.
class Tokenizer::Lease {
 public:
  Lease(const Tokenizer& tokenizer, std::size_t text_bytes)
      : tokenizer_(&tokenizer), is_kept_(text_bytes <= most_kept_bytes) {
    {
      const std::lock_guard lock(tokenizer.mutex_);
      if (!tokenizer.workspaces_.empty()) {
        workspace_ = std::move(tokenizer.workspaces_.back());
        tokenizer.workspaces_.pop_back();
      }
    }
    if (workspace_) return;
    workspace_ = std::make_unique<Workspace>();
    workspace_->scratch = tokenizer.model_->make_scratch();
  }
  ~Lease() {
    constexpr std::size_t most_kept = 64;
    if (!is_kept_) return;
    const std::lock_guard lock(tokenizer_->mutex_);
    // There is room: it was reserved when the tokenizer was made.
    if (tokenizer_->workspaces_.size() < most_kept) {
      tokenizer_->workspaces_.push_back(std::move(workspace_));
    }
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  Workspace& operator*() const { return *workspace_; }

 private:
  // Workspaces of longer texts are freed, not kept.
  static constexpr std::size_t most_kept_bytes = std::size_t{1} << 20;

  const Tokenizer* tokenizer_;
  bool is_kept_;
  std::unique_ptr<Workspace> workspace_;
};

// Writes the ids of words.
class Tokenizer::Writer final : public WordSink {
 public:
  Writer(const Model& model, Workspace& workspace, Ids& ids)
      : model_(&model), workspace_(&workspace), ids_(&ids) {}

  void take(std::string_view word, bool) override {
    checkpoint(static_cast<std::int64_t>(word.size()));
    if (!model_->stays_in_words()) return write(word);
    while (!word.empty()) {
      const std::size_t end = std::min(word.size(), word_end(word, 0));
      write(word.substr(0, end));
      word.remove_prefix(end);
    }
  }
  void write_id(std::int64_t id) { ids_->push_back(id); }

 private:
  void write(std::string_view word) {
    if (const auto known = workspace_->cache.find(word)) {
      ids_->insert(ids_->end(), known->begin(), known->end());
      return;
    }
    const std::size_t before = ids_->size();
    model_->append(word, *workspace_->scratch, *ids_);
    workspace_->cache.put(word, std::span(*ids_).subspan(before));
  }

  const Model* model_;
  Workspace* workspace_;
  Ids* ids_;
};

Tokenizer::Tokenizer(std::string file) : file_(std::move(file)) {
  require_regex();
  require_unicode();
  if (file_.size() > most_file_bytes) {
    fail(ErrorCode::limit, "it has ", file_.size(), " bytes, more than ", most_file_bytes);
  }
  workspaces_.reserve(64);
  const JsonTree tree(file_);
  read(tree.root());
}

Tokenizer::~Tokenizer() = default;

void Tokenizer::read(const JsonView& json) {
  json.require(JsonKind::object);
  json.allow_only({"version", "truncation", "padding", "added_tokens", "normalizer",
                   "pre_tokenizer", "post_processor", "decoder", "model"});
  if (const std::string_view version = json.text_or("version", "1.0"); version != "1.0") {
    fail(ErrorCode::unsupported, "its version ", quoted(version), " is not 1.0");
  }
  model_ = read_model(json.at("model"));
  if (json.has("normalizer")) read_normalizer(json.at("normalizer"), normalizers_);
  if (json.has("pre_tokenizer")) read_pre_tokenizer(json.at("pre_tokenizer"), pre_tokenizers_);
  if (json.has("post_processor")) read_post_processor(json.at("post_processor"), frame_);
  has_decoder_ = json.has("decoder");
  if (has_decoder_) read_decoder(json.at("decoder"), decoders_);
  const JsonTree none("[]");
  added_ = std::make_unique<AddedTokens>(
      json.has("added_tokens") ? json.at("added_tokens") : none.root(), model_->vocabulary(),
      normalizers_);
  size_ = std::ssize(model_->vocabulary().tokens());
  for (const AddedTokens::Token& token : added_->all()) {
    size_ = std::max<std::int64_t>(size_, token.id + 1);
  }
  if (size_ == 0) fail(ErrorCode::corrupt, "it has no tokens");
  const auto require_ids = [&](const Ids& ids) {
    for (const std::int64_t id : ids) {
      if (id >= size_) {
        fail(ErrorCode::corrupt, "post_processor adds id ", id, ", there are ", size_);
      }
    }
  };
  require_ids(frame_.before);
  require_ids(frame_.after);
  if (frame_.pair) {
    for (const auto* part : {&frame_.pair->before, &frame_.pair->between, &frame_.pair->after}) {
      require_ids(part->ids);
    }
  }
  padding_ = find_padding(json);
  for (const AddedTokens::Token& token : added_->all()) {
    const bool is_usual = std::ranges::find(end_names, token.content) != end_names.end();
    if (token.special && is_usual) ends_.push_back(token.id);
  }
}

std::int64_t Tokenizer::find_padding(const JsonView& json) const {
  if (json.has("padding") && json.at("padding").has("pad_id")) {
    const std::int64_t id = json.at("padding").at("pad_id").integer(most_ids);
    if (id < size_) return id;
    fail(ErrorCode::corrupt, "padding.pad_id is ", id, ", there are ", size_, " ids");
  }
  for (const std::string_view name : {"[PAD]", "<pad>", "<|pad|>", "<PAD>"}) {
    if (const AddedTokens::Token* token = added_->find(name)) return token->id;
  }
  return end_of_text().value_or(std::max<std::int64_t>(0, model_->unknown()));
}

std::optional<std::int64_t> Tokenizer::end_of_text() const noexcept {
  if (!frame_.after.empty()) return frame_.after.back();
  for (const std::string_view name : end_names) {
    if (const AddedTokens::Token* token = added_->find(name)) return token->id;
  }
  return {};
}

void Tokenizer::encode_text(std::string_view text, bool is_first, Writer& writer) const {
  NormalText normal{std::string(text), is_first};
  normalize(normalizers_, normal);
  const std::string_view whole = normal.text;
  added_->split(whole, true, [&](const TextPart& part) {
    if (part.id != no_id) return writer.write_id(part.id);
    pre_tokenize(pre_tokenizers_, whole.substr(part.begin, part.end - part.begin),
                 normal.has_first && part.begin == 0, writer);
  });
}

std::vector<std::int64_t> Tokenizer::encode(std::string_view text) const {
  check_stop();
  const Lease lease(*this, text.size());
  Ids ids = frame_.before;
  Writer writer(*model_, *lease, ids);
  added_->split(text, false, [&](const TextPart& part) {
    if (part.id != no_id) return writer.write_id(part.id);
    encode_text(text.substr(part.begin, part.end - part.begin), part.begin == 0, writer);
  });
  ids.insert(ids.end(), frame_.after.begin(), frame_.after.end());
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int64_t> ids) const {
  Tokens tokens;
  for (const std::int64_t id : ids) {
    checkpoint(64);
    if (id < 0 || id >= size_) {
      fail(ErrorCode::mismatch, "id ", id, " is none of ", size_,
           " of the encoding 'tokenizer.json'");
    }
    const std::vector<std::string>& known = model_->vocabulary().tokens();
    const AddedTokens::Token* added = added_->find(id);
    const auto at = static_cast<std::size_t>(id);
    if (added != nullptr && added->special) continue;
    if (added != nullptr) {
      tokens.push_back(added->found);
    } else if (at < known.size() && !known[at].empty()) {
      tokens.push_back(known[at]);
    }
  }
  for (const auto& decoder : decoders_) decoder->run(tokens);
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && !has_decoder_) text += ' ';
    text += tokens[i];
  }
  return text;
}

}  // namespace ondine::text::tokenizer
