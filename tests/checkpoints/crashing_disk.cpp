#include "tests/checkpoints/crashing_disk.h"

#include <algorithm>
#include <cerrno>

namespace ondine::test {
namespace {

enum class Unsynced { lost, half, zeros, kept };

}  // namespace

CrashingDisk::CrashingDisk(const Contents& files) {
  for (const auto& [name, content] : files) {
    names_[name] = std::make_shared<Inode>(Inode{content, content});
  }
  durable_names_ = names_;
}

void CrashingDisk::apply(Names& names, const NameChange& change) {
  if (!change.gone.empty()) names.erase(change.gone);
  if (change.file) names[change.name] = change.file;
}

std::vector<CrashingDisk::Contents> CrashingDisk::after_power_loss() const {
  std::vector<Contents> states;
  for (std::size_t subset = 0; subset < std::size_t{1} << pending_.size(); ++subset) {
    Names names = durable_names_;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if ((subset >> i & 1) != 0) apply(names, pending_[i]);
    }
    for (const Unsynced fate : {Unsynced::lost, Unsynced::half, Unsynced::zeros, Unsynced::kept}) {
      Contents state;
      for (const auto& [name, file] : names) {
        std::vector<std::byte> content = file->content;
        const std::size_t safe = std::min(file->durable.size(), content.size());
        if (fate == Unsynced::lost) content.resize(safe);
        if (fate == Unsynced::half) content.resize(safe + (content.size() - safe) / 2);
        if (fate == Unsynced::zeros) {
          std::fill(content.begin() + static_cast<long>(safe), content.end(), std::byte{0});
        }
        state[name] = content;
      }
      states.push_back(state);
    }
  }
  std::ranges::sort(states);
  states.erase(std::ranges::unique(states).begin(), states.end());
  return states;
}

std::vector<std::string> CrashingDisk::names() const {
  std::vector<std::string> result;
  for (const auto& entry : names_) result.push_back(entry.first);
  return result;
}

void CrashingDisk::change(NameChange change) {
  apply(names_, change);
  pending_.push_back(std::move(change));
  if (on_change) on_change();
}

IoResult CrashingDisk::open_handle(const std::string& path) {
  const auto found = names_.find(path);
  if (found == names_.end()) return {0, ENOENT};
  open_[next_handle_] = {found->second};
  return {next_handle_++, 0};
}

IoResult CrashingDisk::create(const std::string& path, const std::string& /*like*/) {
  if (names_.contains(path)) return {0, EEXIST};
  change({path, std::make_shared<Inode>(), ""});
  return open_handle(path);
}

IoResult CrashingDisk::open(const std::string& path) { return open_handle(path); }
IoResult CrashingDisk::lock(const std::string& path) { return open_handle(path); }

IoResult CrashingDisk::write(Handle handle, std::span<const std::byte> bytes) {
  std::vector<std::byte>& content = open_.at(handle).file->content;
  content.insert(content.end(), bytes.begin(), bytes.end());
  if (on_change) on_change();
  return {static_cast<std::int64_t>(bytes.size()), 0};
}

IoResult CrashingDisk::read(Handle handle, std::span<std::byte> bytes) {
  OpenFile& from = open_.at(handle);
  const auto rest = std::span(from.file->content).subspan(from.position);
  const std::size_t n = std::min(rest.size(), bytes.size());
  std::copy_n(rest.begin(), n, bytes.begin());
  from.position += n;
  return {static_cast<std::int64_t>(n), 0};
}

IoResult CrashingDisk::size(Handle handle) {
  return {static_cast<std::int64_t>(open_.at(handle).file->content.size()), 0};
}

IoResult CrashingDisk::sync(Handle handle) {
  Inode& file = *open_.at(handle).file;
  file.durable = file.content;
  if (on_change) on_change();
  return {};
}

IoResult CrashingDisk::close(Handle handle) {
  open_.erase(handle);
  return {};
}

IoResult CrashingDisk::rename(const std::string& from, const std::string& to) {
  const auto found = names_.find(from);
  if (found == names_.end()) return {0, ENOENT};
  const auto target = names_.find(to);
  if (target != names_.end() && target->second == found->second) return {};  // as POSIX has it
  change({to, found->second, from});
  return {};
}

IoResult CrashingDisk::link(const std::string& file, const std::string& name) {
  const auto found = names_.find(file);
  if (found == names_.end()) return {0, ENOENT};
  if (names_.contains(name)) return {0, EEXIST};
  change({name, found->second, ""});
  return {};
}

IoResult CrashingDisk::remove(const std::string& path) {
  if (!names_.contains(path)) return {0, ENOENT};
  change({"", nullptr, path});
  return {};
}

IoResult CrashingDisk::sync_folder(const std::string&) {
  durable_names_ = names_;
  pending_.clear();
  if (on_change) on_change();
  return {};
}

IoResult CrashingDisk::list(const std::string&, std::vector<std::string>& names) {
  names = this->names();
  return {};
}

}  // namespace ondine::test
