// Files that a node keeps beside its checkpoint, so that it can be killed at any moment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "core/files/atomic_file.h"
#include "core/files/lock_file.h"
#include "trainer/federated/objects.h"

namespace ondine::federated {

class NodeFiles {
 public:
  // An empty path: nothing is kept.
  explicit NodeFiles(const std::filesystem::path& checkpoint);

  // Error(mismatch) while another node has the files.
  void lock();
  void unlock() noexcept { lock_.release(); }

  // The message that is worked on, and the reply that is to be sent. Error(corrupt) for damaged
  // files.
  void save_message(const Parcel& parcel) { save(".message", parcel); }
  void save_reply(const Parcel& parcel) { save(".reply", parcel); }
  std::optional<Parcel> message() { return load(".message"); }
  std::optional<Parcel> reply() { return load(".reply"); }
  void forget_message() noexcept { forget(".message"); }
  void forget_reply() noexcept { forget(".reply"); }

  // The node's number while it is joined. A file of it at the start is that of a node that was
  // killed. Error(corrupt) for a damaged one.
  void save_number(std::uint64_t number);
  std::optional<std::uint64_t> number();
  void forget_number() noexcept { forget(".number"); }

  // Messages that were answered, until their time is over.
  bool is_answered(const std::string& id) const { return answered_.contains(id); }
  void add_answered(const fleet::Metadata& message);

 private:
  std::string path(const char* suffix) const { return checkpoint_ + suffix; }
  void save(const char* suffix, const Parcel& parcel);
  std::optional<Parcel> load(const char* suffix);
  void forget(const char* suffix) noexcept;
  void load_answered();
  void save_answered();

  PosixFileSystem files_;
  std::string checkpoint_;
  LockFile lock_;
  std::map<std::string, std::int64_t> answered_;  // when their time is over, in seconds since 1970
};

}  // namespace ondine::federated
