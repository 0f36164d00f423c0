// Writing a file aside and giving it its name when it is whole.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>

#include <ondine/export.h>

namespace ondine {

// Calls `write` with a stream into a temporary file in the same folder, then makes that file
// `file`. When it returns, the content is durable; when it throws (what `write` threw, or
// Error(io)), `file` is as it was and nothing is left beside it. A file that is replaced keeps its
// mode. A symbolic link is replaced, not followed; Error(io) for a device, a pipe or a socket.
ONDINE_API void replace_file(const std::filesystem::path& file,
                             const std::function<void(std::ostream&)>& write);

}  // namespace ondine
