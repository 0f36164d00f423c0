// The tokens that a decoder reads: its inputs, their positions, which keys a position sees, and the
// caches of keys and values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trainer/hugging_face/network.h"

namespace ondine::hugging_face {

// Traits of the attention of one layer.
struct AttentionTraits {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;
  double scale = 1;
  double softcap = 0;       // 0: none
  std::int64_t window = 0;  // positions that are seen, the own included; 0: all before
};

class Sequence {
 public:
  // Declares the inputs: "input_ids", and with `cache` "attention_mask", "position_ids" and, layer
  // by layer, "past_key_values.N.key" and ".value".
  Sequence(Network& network, bool cache, std::int64_t layers, const AttentionTraits& traits);

  const std::string& ids() const noexcept { return ids_; }
  // [batch, sequence].
  const std::string& positions();
  // [sequence], or [batch, sequence] with caches.
  const std::string& places() const noexcept { return places_; }
  // Queries, keys and values are [batch, sequence, heads times size], and so is the result.
  std::string attend(const std::string& q, const std::string& k, const std::string& v,
                     const AttentionTraits& traits);
  // Declares "logits" and the outputs of the caches.
  void write_outputs(const std::string& scores, std::int64_t vocabulary);

 private:
  const std::string& mask(std::int64_t window);
  std::string window_mask(std::int64_t window);
  std::string cache_mask(std::int64_t window);

  Network* network_;
  bool cache_;
  std::string ids_, padding_, places_, positions_;
  std::map<std::int64_t, std::string> masks_;  // by window
  std::int64_t attended_ = 0;                  // layers
  AttentionTraits traits_;
};

}  // namespace ondine::hugging_face
