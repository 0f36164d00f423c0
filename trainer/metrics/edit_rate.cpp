#include <string_view>

#include "core/message.h"
#include "trainer/metrics/edit_distance.h"
#include "trainer/metrics/families.h"

namespace ondine::metrics {
namespace {

std::string text_of(const std::vector<std::int64_t>& labels, const Context& context) {
  std::string text;
  for (const std::int64_t label : labels) {
    if (label < 0 || label >= static_cast<std::int64_t>(context.class_names.size())) {
      fail(ErrorCode::mismatch, "label ", label, " is none of the ", context.class_names.size(),
           " classes that have names");
    }
    text += context.class_names[static_cast<std::size_t>(label)];
  }
  return text;
}

// Characters of UTF-8 text.
std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> characters;
  std::size_t first = 0;
  for (std::size_t i = 1; i <= text.size(); ++i) {
    if (i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;
    characters.push_back(text.substr(first, i - first));
    first = i;
  }
  return characters;
}

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n";
  std::vector<std::string_view> words;
  for (std::size_t first = text.find_first_not_of(spaces); first != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(spaces, first), text.size());
    words.push_back(text.substr(first, end - first));
    first = text.find_first_not_of(spaces, end);
  }
  return words;
}

// Edit distances of all rows by the length of all references.
class EditRate final : public Metric {
 public:
  EditRate(const std::string& name, const Context& context)
      : name_(name), of_words_(name == "wer"), context_(context) {
    if (of_words_ && context.class_names.empty()) {
      fail(ErrorCode::mismatch,
           "metric 'wer' needs the characters that labels stand for, but neither the data nor the "
           "model names its classes");
    }
  }

  void add(const Batch& batch) override {
    for (std::size_t row = 0; row < batch.references.size(); ++row) {
      const auto& decoded = batch.decoded[row];
      const auto& reference = batch.references[row];
      if (context_.class_names.empty()) {
        add_pair(decoded, reference, batch.weight(row));
        continue;
      }
      const std::string found = text_of(decoded, context_);
      const std::string wanted = text_of(reference, context_);
      if (of_words_) {
        add_pair(words_of(found), words_of(wanted), batch.weight(row));
      } else {
        add_pair(characters_of(found), characters_of(wanted), batch.weight(row));
      }
    }
  }

  void write(Evaluation& to) const override {
    to.metrics.set(name_, errors_ == 0 ? 0 : errors_ / length_);
  }

 private:
  template <class Sequence>
  void add_pair(const Sequence& decoded, const Sequence& reference, double weight) {
    errors_ += weight * static_cast<double>(edit_distance(decoded, reference));
    length_ += weight * static_cast<double>(reference.size());
  }

  std::string name_;
  bool of_words_;
  Context context_;
  double errors_ = 0;
  double length_ = 0;
};

}  // namespace

std::unique_ptr<Metric> make_edit_rate(const std::string& name, const Context& context) {
  return std::make_unique<EditRate>(name, context);
}

}  // namespace ondine::metrics
