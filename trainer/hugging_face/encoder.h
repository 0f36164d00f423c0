// The body of an encoder: tokens to hidden states.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trainer/hugging_face/encoder_traits.h"
#include "trainer/hugging_face/network.h"

namespace ondine::hugging_face {

class Encoder {
 public:
  // `prefix`: prefix of the names of its modules. Declares the inputs "input_ids", and unless
  // `ids_only` "attention_mask" and, where there are types of tokens, "token_type_ids". With
  // `pairs` each has another one whose name ends with "_pair"; its rows come after those of the
  // first.
  Encoder(Network& network, const EncoderTraits& traits, std::string prefix, bool ids_only,
          bool pairs);

  // The hidden states of all tokens, [batch, sequence, width].
  std::string write();
  std::string table();  // of the words
  std::string norm(const std::string& x, const std::string& module);
  // A linear layer from the width to `to`.
  std::string linear(const std::string& x, const std::string& module, std::int64_t to);
  std::string active(const std::string& x);
  std::string first_token(const std::string& x);
  // Which tokens are no padding, [batch, sequence].
  const std::string& real() const noexcept { return real_; }

 private:
  // Declares the inputs; the results are them, or both rows of pairs.
  std::vector<std::string> declare(const std::vector<const char*>& names, bool pairs);
  std::string positions();
  std::string embeddings();
  std::string attend(const std::string& q, const std::string& k, const std::string& v);
  std::string layer(const std::string& x, const std::string& module);

  Network& n_;
  const EncoderTraits& t_;
  std::string prefix_, ids_, types_, real_, mask_;
};

}  // namespace ondine::hugging_face
