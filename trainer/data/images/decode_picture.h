// Decodes one picture file under the budget that all threads share.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/budget.h"
#include "core/checked.h"
#include "core/files/file.h"
#include "core/message.h"
#include "kernels/image/codecs/image.h"
#include "trainer/data/files/decode_budget.h"

namespace ondine::data {

// Calls `take` with the picture, [H, W, 3] as `how` says, and the budget that it is charged to, and
// returns what that returns. Errors name the file as `what`.
template <class Take>
auto with_picture(const char* what, const std::string& path, const DecodeBudget& decoding,
                  const kernels::DecodeOptions& how, const Take& take) {
  return with_context(
      [&] {
        return decoding.run([&](const std::shared_ptr<MemoryBudget>& budget) {
          PosixFileSystem system;
          FileSource source(system, path);
          BudgetShare share(budget);
          share.add(source.size());
          std::vector<std::uint8_t> bytes(size_in_memory(source.size(), "a file"));
          source.read(std::as_writable_bytes(std::span(bytes)));
          return take(kernels::decode_image(bytes, budget, how), budget);
        });
      },
      [&] { return what + (' ' + quoted(path)); });
}

}  // namespace ondine::data
