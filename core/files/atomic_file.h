// Replacing a file so that a crash, a power loss or a full disk at any moment leaves it whole.
#pragma once

#include <functional>
#include <string>

#include "core/files/file.h"

namespace ondine {

struct AtomicWriteOptions {
  // Keep what the write replaces as PATH.prev. PATH or PATH.prev is a whole generation at every
  // moment if one of them was before.
  bool keep_previous = false;
};

std::string previous_generation(const std::string& path);

// Final target of the symbolic link PATH, whether the target exists or not; PATH itself if it is no
// link. Error(io) for links without an end.
std::string follow_link(const std::string& path);

// Error(io) for a device, a pipe or a socket: a rename would put a file in the place of /dev/null.
void require_replaceable(const std::string& path);

// Error(io) unless a file could be made beside PATH, which is then removed.
void require_writable(FileSystem& files, const std::string& path);

// Calls `writer` with the sink of a temporary file in the same folder, then makes that file PATH:
//   write, fsync, close, [link PATH to a second temporary name], rename to PATH, fsync the folder,
//   [rename the second name to PATH.prev, fsync the folder].
// When it returns, the new content is durable. When it throws (what `writer` threw, or Error(io)),
// PATH holds the old content, or the new one if the error came after the rename; no temporary file
// is left. A failed fsync is not tried again. Temporary files that a writer of PATH left behind
// when it died are removed first: their names are PATH.ondine-tmp-PROCESS-NUMBER, and the lock of a
// living writer protects its own. Writers of one PATH in several threads or processes at once are
// safe; the last to rename wins. The new file has the mode of the file at PATH, or the one that the
// process gives to new files. A symbolic link at PATH is replaced, not followed; a device, a
// pipe or a socket at PATH is Error(io).
void atomic_write(FileSystem& files, const std::string& path,
                  const std::function<void(Sink&)>& writer, AtomicWriteOptions options = {});

}  // namespace ondine
