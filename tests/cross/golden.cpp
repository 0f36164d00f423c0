// Reads checkpoints and writes them again: the same bytes on every machine. golden FILE...
#include <algorithm>
#include <bit>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <span>
#include <vector>

#include "checkpoints/format.h"

int main(int argc, char** argv) {
  using namespace ondine;
  for (int i = 1; i < argc; ++i) {
    std::ifstream stream(argv[i], std::ios::binary);
    const std::vector<char> text{std::istreambuf_iterator<char>(stream), {}};
    const auto bytes = std::as_bytes(std::span(text));
    try {
      MemorySource source(bytes);
      const Checkpoint checkpoint = decode_checkpoint(source);
      MemorySink sink;
      encode_checkpoint(checkpoint, sink);
      if (!std::ranges::equal(sink.bytes(), bytes)) {
        std::fprintf(stderr, "%s: written again, the bytes differ\n", argv[i]);
        return 1;
      }
      // Elements have the right values: equal bytes would not show a swap that both ways get wrong.
      for (const CheckpointVariable& variable : checkpoint.state) {
        if (variable.name == "w" && variable.value.values<float>()[3] != 4.0F) return 1;
        if (variable.name == "t" && variable.value.values<std::int64_t>()[0] != 5) return 1;
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", argv[i], error.what());
      return 1;
    }
  }
  std::printf("%d checkpoints, %s endian\n", argc - 1,
              std::endian::native == std::endian::big ? "big" : "little");
  return argc > 1 ? 0 : 1;
}
