// The networks that can be written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ondine/data_record.h>
#include <ondine/limits.h>

#include "trainer/hugging_face/config.h"
#include "trainer/hugging_face/network.h"
#include "trainer/hugging_face/sentence.h"

namespace ondine::hugging_face {

struct WriteOptions {
  std::string architecture;
  bool cache = false;
  bool ids_only = false;
  bool pairs = false;
  const Limits* limits = nullptr;
  const SentenceModules* sentence = nullptr;
};

// A family of architectures: writes a network, and knows tensors that files have besides.
struct Family {
  bool (*knows)(const std::string& architecture);
  bool is_decoder;
  void (*write)(Network& network, const Config& config, const WriteOptions& options);
  // Whether the tensor is a buffer, or a part that the architecture has not.
  bool (*is_left_out)(const Config& config, std::string_view tensor);
  // How long texts may be. The network has been written with this config.
  DataRecord::Context (*context)(const Config& config, const std::string& architecture);
};

extern const Family rotary_decoders;
extern const Family gpt2;
extern const Family encoders;

}  // namespace ondine::hugging_face
