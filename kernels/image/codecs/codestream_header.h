// Memory that the headers of a JPEG 2000 file make its library allocate.
#pragma once

#include "kernels/image/codecs/codec.h"

namespace ondine::kernels::image {

struct CodestreamHeader {
  std::int64_t tiles = 0;
  std::int64_t tile_bytes = 0;   // of the tables for each tile
  std::int64_t block_bytes = 0;  // of the tables for precincts and code blocks
};

// Error(corrupt) where there is no codestream, and where the file is too short for its tiles.
CodestreamHeader read_codestream_header(Bytes file);

}  // namespace ondine::kernels::image
