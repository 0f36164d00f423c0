// Steps of a language model: ids in, scores of the next token out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/data_record.h>
#include <ondine/model.h>
#include <ondine/text.h>

#include "trainer/text/generate/decoder_ports.h"

namespace ondine::text {

// Where caches with more places than tokens have the others, which the mask hides.
enum class Spare : std::uint8_t { behind, before };

// The tokens that a step sees. Caches have `room` places, `past` of them with tokens.
struct Step {
  std::span<const std::int64_t> tokens;
  std::int64_t past = 0;
  std::int64_t room = 0;
  Spare spare = Spare::behind;
};

// A model with its ports; only reads it.
class DecoderCall {
 public:
  DecoderCall(const Model& model, TextEncoding encoding);

  const DecoderPorts& ports() const noexcept { return ports_; }
  const TextEncoding& encoding() const noexcept { return encoding_; }
  // Tokens that a model without caches sees.
  std::size_t context() const noexcept { return context_; }
  // What the data record says of the length of texts.
  const DataRecord::Text& lengths() const noexcept { return lengths_; }
  std::int64_t samples() const noexcept;

  // Whether the model gives keys and values of the new tokens alone.
  bool has_fresh() const noexcept { return !fresh_fetches_.empty(); }
  // Runs the step with one value for each cache. The results are scores and what the caches become.
  Results run(const Step& step, std::span<const Value> caches) const {
    return run(step, caches, fetches_);
  }
  // The results are scores and the new tokens of each cache, where has_fresh().
  Results run_for_fresh(const Step& step, std::span<const Value> caches) const {
    return run(step, caches, fresh_fetches_);
  }
  // Scores of the token after the last one of the step, one for each id.
  std::vector<double> scores(const Results& results, const Step& step) const;

  // Memory that counts against the model's limits.
  Tensor make_tensor(DType dtype, const Shape& shape) const;

 private:
  Results run(const Step& step, std::span<const Value> caches,
              const std::vector<std::string>& fetches) const;
  Tensor ids(const Step& step, std::int64_t length) const;
  Tensor positions(const Step& step, std::int64_t length) const;
  Tensor mask(const Step& step, std::int64_t length) const;
  void take_declared_axis();
  // Error(mismatch) where the dims of the scores do not tell.
  std::int64_t class_axis(std::span<const std::int64_t> dims, std::string_view spelled) const;

  const Model* model_;
  TextEncoding encoding_;
  DecoderPorts ports_;
  std::vector<std::string> fetches_, fresh_fetches_;
  std::size_t context_ = 0;
  DataRecord::Text lengths_;                // without tokenizer and template
  std::optional<std::int64_t> known_axis_;  // of the scores, 1 or 2
};

}  // namespace ondine::text
