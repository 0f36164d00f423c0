#include <algorithm>

#include <ondine/generate.h>
#include <ondine/text.h>

#include "core/out_of_memory.h"

namespace ondine {

std::string sample_text(const Model& model, std::string_view prompt, const SampleOptions& options) {
  return guard_memory("sample a text", [&] {
    GenerateOptions how{.max_tokens = options.tokens,
                        .temperature = options.temperature,
                        .ignore_end = true,
                        .encoding = options.encoding};
    if (options.temperature != 0) how.seed = options.seed;
    const Generator generator(model, how);
    const TextEncoding& encoding = generator.encoding();
    std::vector<std::int64_t> tokens = encoding.encode_beginning(prompt);
    // A text of pieces depends on those before it: on a space, or bytes of one character.
    const std::size_t known = encoding.decode(tokens).size();
    const GenerateReport report = generator.generate(tokens);
    tokens.insert(tokens.end(), report.tokens.begin(), report.tokens.end());
    const std::string all = encoding.decode(tokens);
    return all.substr(std::min(known, all.size()));
  });
}

}  // namespace ondine
