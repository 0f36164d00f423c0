// A FileSystem that lets a test decide about every call.
#pragma once

#include <functional>
#include <utility>

#include "core/files/file.h"

namespace ondine::test {

enum class Op {
  create,
  open,
  lock,
  write,
  read,
  size,
  sync,
  close,
  rename,
  link,
  remove,
  sync_folder,
  list
};

class HookedFiles final : public FileSystem {
 public:
  // Performs the call, a read or write with at most so many bytes.
  using Perform = std::function<IoResult(std::size_t most)>;
  using Hook = std::function<IoResult(Op, const Perform&)>;

  HookedFiles(FileSystem& inner, Hook hook) : inner_(inner), hook_(std::move(hook)) {}

  IoResult create(const std::string& path, const std::string& like) override {
    return call(Op::create, [&] { return inner_.create(path, like); });
  }
  IoResult open(const std::string& path) override {
    return call(Op::open, [&] { return inner_.open(path); });
  }
  IoResult lock(const std::string& path) override {
    return call(Op::lock, [&] { return inner_.lock(path); });
  }
  IoResult write(Handle handle, std::span<const std::byte> bytes) override {
    return hook_(Op::write, [&](std::size_t most) {
      return inner_.write(handle, bytes.first(std::min(bytes.size(), most)));
    });
  }
  IoResult read(Handle handle, std::span<std::byte> bytes) override {
    return hook_(Op::read, [&](std::size_t most) {
      return inner_.read(handle, bytes.first(std::min(bytes.size(), most)));
    });
  }
  IoResult size(Handle handle) override {
    return call(Op::size, [&] { return inner_.size(handle); });
  }
  IoResult sync(Handle handle) override {
    return call(Op::sync, [&] { return inner_.sync(handle); });
  }
  IoResult close(Handle handle) override {
    return call(Op::close, [&] { return inner_.close(handle); });
  }
  IoResult rename(const std::string& from, const std::string& to) override {
    return call(Op::rename, [&] { return inner_.rename(from, to); });
  }
  IoResult link(const std::string& file, const std::string& name) override {
    return call(Op::link, [&] { return inner_.link(file, name); });
  }
  IoResult remove(const std::string& path) override {
    return call(Op::remove, [&] { return inner_.remove(path); });
  }
  IoResult sync_folder(const std::string& path) override {
    return call(Op::sync_folder, [&] { return inner_.sync_folder(path); });
  }
  IoResult list(const std::string& folder, std::vector<std::string>& names) override {
    return call(Op::list, [&] { return inner_.list(folder, names); });
  }

 private:
  template <class Body>
  IoResult call(Op op, Body body) {
    return hook_(op, [&body](std::size_t) { return body(); });
  }

  FileSystem& inner_;
  Hook hook_;
};

inline constexpr std::size_t all_bytes = static_cast<std::size_t>(-1);

}  // namespace ondine::test
