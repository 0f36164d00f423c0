// Which inputs and outputs of a language model are what.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <ondine/model.h>

namespace ondine::text {

// Keys or values of earlier tokens: an input, and the output that has those of the new tokens too.
struct CachePorts {
  PortInfo past;
  std::string present;
  std::string fresh;      // the output of the new tokens alone; empty where there is none
  std::size_t batch = 0;  // axis of the samples
  std::size_t axis = 0;   // axis of the tokens
};

struct DecoderPorts {
  PortInfo ids;                       // [N, T]
  std::optional<PortInfo> mask;       // [N, S]: 1 for tokens that are seen, 0 for others
  std::optional<PortInfo> positions;  // [N, T]
  std::vector<CachePorts> caches;
  std::string scores;  // the first output that is no cache, unless another was trained

  // Whether ids are all that it takes.
  bool has_ids_only() const noexcept { return !mask && !positions && caches.empty(); }
};

// Error(mismatch) naming the first input that is not understood, with its type.
DecoderPorts find_decoder_ports(const Model& model);

}  // namespace ondine::text
