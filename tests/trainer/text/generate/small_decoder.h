// A decoder of two layers in the forms that exporters write, with the same weights in each.
#pragma once

#include <cstdint>
#include <string>

#include <ondine/build.h>
#include <ondine/model.h>

namespace ondine::test {

struct SmallDecoder {
  bool caches = false;
  bool mask = false;
  bool positions = false;   // as an input; else they follow from the lengths
  bool rotary = true;       // else learned positions, at most 256
  std::int64_t window = 0;  // a query sees that many places; 0: all
  bool ignores_mask = false;
  bool mixes_new_tokens = false;  // after others, all of a step see each other
  bool measures_mask = false;     // takes the number of tokens from the mask
  bool sees_all = false;          // also later tokens
  bool counts_down = false;       // positions, from the length
  bool centers = false;           // the text, by the mean of all tokens
  std::int64_t tokens = 0;        // of a step; 0: any number
  std::int64_t vocabulary = 256;
  std::string past = "past_key_values.%.key", present = "present.%.key";

  static constexpr std::int64_t layers = 2, heads = 2, size = 8, width = heads * size;

  ModelBuilder builder() const;
  Model model(const LoadOptions& options = {}) const;
};

}  // namespace ondine::test
