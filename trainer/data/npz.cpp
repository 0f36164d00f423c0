// .npz: a zip archive of .npy members, stored or deflated. Read from its central directory.
#include <algorithm>
#include <cstring>

#include "trainer/data/open_data.h"

namespace ondine {
namespace {

class Zip {
 public:
  explicit Zip(std::span<const std::byte> file) : file_(file) {}

  std::uint64_t number(std::uint64_t at, std::size_t bytes) const {
    require(at, bytes);
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) {
      value = value << 8 | std::to_integer<std::uint64_t>(file_[static_cast<std::size_t>(at) + i]);
    }
    return value;
  }
  std::string text(std::uint64_t at, std::uint64_t bytes) const {
    const auto part = slice(at, bytes);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  std::span<const std::byte> slice(std::uint64_t at, std::uint64_t bytes) const {
    require(at, bytes);
    return file_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(bytes));
  }
  std::uint64_t size() const noexcept { return file_.size(); }

 private:
  void require(std::uint64_t at, std::uint64_t bytes) const {
    if (at > file_.size() || bytes > file_.size() - at) {
      fail(ErrorCode::corrupt, "the zip archive is cut off");
    }
  }
  std::span<const std::byte> file_;
};

struct Member {
  std::string name;
  std::uint64_t method = 0;
  std::uint64_t packed = 0;
  std::uint64_t bytes = 0;
  std::uint64_t header = 0;
};

constexpr std::uint64_t wide = 0xffffffff;  // the number is in the zip64 field

struct Directory {
  std::uint64_t at = 0;
  std::uint64_t members = 0;
};

Directory find_directory(const Zip& zip) {
  // The end record has 22 bytes and a comment of up to 65535.
  const std::uint64_t last = zip.size() < 22 ? 0 : zip.size() - 22;
  for (std::uint64_t back = 0; zip.size() >= 22 && back <= std::min<std::uint64_t>(last, 65535);
       ++back) {
    const std::uint64_t at = last - back;
    if (zip.number(at, 4) != 0x06054b50) continue;
    Directory directory{zip.number(at + 16, 4), zip.number(at + 10, 2)};
    if ((directory.at == wide || directory.members == 0xffff) && at >= 20 &&
        zip.number(at - 20, 4) == 0x07064b50) {
      const std::uint64_t record = zip.number(at - 12, 8);
      directory = {zip.number(record + 48, 8), zip.number(record + 32, 8)};
    }
    return directory;
  }
  fail(ErrorCode::corrupt, "no zip archive");
}

// Sizes and offset that did not fit 32 bits follow, in order, in extra field 1.
void read_zip64(const Zip& zip, std::uint64_t at, std::uint64_t end, Member& member) {
  while (at + 4 <= end) {
    const std::uint64_t id = zip.number(at, 2);
    const std::uint64_t bytes = zip.number(at + 2, 2);
    at += 4;
    if (id == 1) {
      for (std::uint64_t* value : {&member.bytes, &member.packed, &member.header}) {
        if (*value != wide) continue;
        *value = zip.number(at, 8);
        at += 8;
      }
      return;
    }
    at += bytes;
  }
}

Tensor read_member(const SharedSource& file, const Zip& zip, const Member& member,
                   const Limits& limits) {
  // The local header repeats the name and has extra fields of its own length.
  const std::uint64_t start =
      member.header + 30 + zip.number(member.header + 26, 2) + zip.number(member.header + 28, 2);
  const auto packed = zip.slice(start, member.packed);
  if (member.method == 0) {
    SharedSource source = file.part(packed);
    return read_npy(source, limits);
  }
  if (member.method != 8) fail(ErrorCode::unsupported, "zip compression ", member.method);
  const auto bytes = inflate(packed, -15, limits.tensor_bytes, member.bytes);
  SharedSource source(*bytes, bytes);
  return read_npy(source, limits);
}

}  // namespace

std::vector<std::pair<std::string, Tensor>> read_npz(SharedSource& file, const Limits& limits) {
  const Zip zip(file.rest());
  const Directory directory = find_directory(zip);
  std::vector<std::pair<std::string, Tensor>> result;
  std::uint64_t at = directory.at;
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < directory.members; ++i) {
    if (zip.number(at, 4) != 0x02014b50) fail(ErrorCode::corrupt, "the zip directory is damaged");
    const std::uint64_t name = zip.number(at + 28, 2);
    const std::uint64_t extra = zip.number(at + 30, 2);
    Member member{zip.text(at + 46, name), zip.number(at + 10, 2), zip.number(at + 20, 4),
                  zip.number(at + 24, 4), zip.number(at + 42, 4)};
    const std::uint64_t end = at + 46 + name + extra;
    read_zip64(zip, at + 46 + name, end, member);
    at = end + zip.number(at + 32, 2);
    if (!member.name.ends_with(".npy")) continue;
    Tensor array = with_context([&] { return read_member(file, zip, member, limits); },
                                [&] { return "member " + quoted(member.name); });
    bytes += array.bytes();
    if (bytes > limits.weight_bytes) fail(ErrorCode::limit, "arrays of ", bytes, " bytes");
    member.name.resize(member.name.size() - 4);
    result.emplace_back(std::move(member.name), std::move(array));
  }
  return result;
}

}  // namespace ondine
