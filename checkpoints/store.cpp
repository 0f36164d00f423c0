#include "checkpoints/store.h"

#include "core/files/atomic_file.h"
#include "core/message.h"

namespace ondine {
namespace {

Checkpoint load_generation(FileSystem& files, const std::string& path,
                           const std::optional<ExpectedModel>& expected, const Limits& limits) {
  return with_context(
      [&] {
        FileSource source(files, path);
        return decode_checkpoint(source, expected, limits);
      },
      [&] { return cat("checkpoint ", quoted(path)); });
}

}  // namespace

void save_checkpoint(FileSystem& files, const std::filesystem::path& path,
                     const Checkpoint& checkpoint) {
  with_context(
      [&] {
        atomic_write(files, follow_link(path.string()),
                     [&](Sink& sink) { encode_checkpoint(checkpoint, sink); },
                     {.keep_previous = true});
      },
      [&] { return cat("checkpoint ", quoted(path.string())); });
}

LoadedCheckpoint load_checkpoint(FileSystem& files, const std::filesystem::path& given,
                                 const std::optional<ExpectedModel>& expected,
                                 const Limits& limits) {
  const std::filesystem::path path = follow_link(given.string());
  const std::string previous = previous_generation(path.string());
  try {
    return {load_generation(files, path.string(), expected, limits), path, ""};
  } catch (const Error& newest) {
    const ErrorCode code = newest.code();
    const bool is_lost = code == ErrorCode::io || code == ErrorCode::not_found;
    if (code != ErrorCode::corrupt && !is_lost) throw;
    try {
      return {load_generation(files, previous, expected, limits), previous, newest.what()};
    } catch (const Error& older) {
      throw Error(newest.code(), cat(newest.what(), "\nand ", older.what()));
    }
  }
}

}  // namespace ondine
