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
  const std::byte* start() const noexcept { return file_.data(); }

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
  std::uint64_t flags = 0;
  std::uint64_t method = 0;
  std::uint64_t crc = 0;
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

// The compressed bytes. The local header repeats the name and has extra fields of its own length.
std::span<const std::byte> packed_bytes(const Zip& zip, const Member& member) {
  if (zip.number(member.header, 4) != 0x04034b50) {
    fail(ErrorCode::corrupt, "the member's header is damaged");
  }
  const std::uint64_t start =
      member.header + 30 + zip.number(member.header + 26, 2) + zip.number(member.header + 28, 2);
  return zip.slice(start, member.packed);
}

// The content as a source, after its checksum was compared.
SharedSource open_member(const SharedSource& file, const Zip& zip, const Member& member,
                         const Limits& limits) {
  const auto packed = packed_bytes(zip, member);
  if ((member.flags & 1) != 0) fail(ErrorCode::unsupported, "the member is encrypted");
  if (member.method != 0 && member.method != 8) {
    fail(ErrorCode::unsupported, "zip compression ", member.method);
  }
  if (member.bytes > limits.tensor_bytes) {
    fail(ErrorCode::limit, "an array of ", member.bytes, " bytes");
  }
  const auto require_crc = [&](std::span<const std::byte> bytes, const SharedSource& source) {
    if (crc32_of(bytes, source) != member.crc) {
      fail(ErrorCode::corrupt, "its checksum (CRC-32) is wrong: the file is damaged");
    }
  };
  if (member.method == 0) {
    if (member.bytes != member.packed) {
      fail(ErrorCode::corrupt, "a stored member of ", member.bytes, " bytes takes ", member.packed);
    }
    SharedSource source = file.part(packed);
    require_crc(packed, source);
    return source;
  }
  const auto bytes = inflate_deflated(packed, member.bytes);
  SharedSource source(*bytes, bytes);
  require_crc(*bytes, source);
  return source;
}

// No byte belongs to two members, so what an archive unpacks to grows with its own size.
void require_apart(const Zip& zip, const Directory& directory, std::vector<Member> members) {
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return a.header < b.header; });
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto packed = packed_bytes(zip, members[i]);
    const auto end = static_cast<std::uint64_t>(packed.data() + packed.size() - zip.start());
    const bool is_last = i + 1 == members.size();
    if (end <= (is_last ? directory.at : members[i + 1].header)) continue;
    fail(ErrorCode::corrupt, "member ", quoted(members[i].name), " overlaps ",
         is_last ? "the directory" : quoted(members[i + 1].name));
  }
}

std::vector<Member> read_members(const Zip& zip, const Directory& directory) {
  std::vector<Member> members;
  std::uint64_t at = directory.at;
  for (std::uint64_t i = 0; i < directory.members; ++i) {
    if (zip.number(at, 4) != 0x02014b50) fail(ErrorCode::corrupt, "the zip directory is damaged");
    const std::uint64_t name = zip.number(at + 28, 2);
    const std::uint64_t extra = zip.number(at + 30, 2);
    Member member{zip.text(at + 46, name), zip.number(at + 8, 2),  zip.number(at + 10, 2),
                  zip.number(at + 16, 4),  zip.number(at + 20, 4), zip.number(at + 24, 4),
                  zip.number(at + 42, 4)};
    const std::uint64_t end = at + 46 + name + extra;
    read_zip64(zip, at + 46 + name, end, member);
    at = end + zip.number(at + 32, 2);
    members.push_back(std::move(member));
  }
  return members;
}

}  // namespace

Archive read_npz(SharedSource& file, const Limits& limits) {
  const Zip zip(file.rest());
  const Directory directory = find_directory(zip);
  const std::vector<Member> members = read_members(zip, directory);
  require_apart(zip, directory, members);
  Archive result;
  std::uint64_t bytes = 0;
  for (const Member& member : members) {
    if (!member.name.ends_with(".npy")) continue;
    const std::string name = member.name.substr(0, member.name.size() - 4);
    with_context(
        [&] {
          SharedSource source = open_member(file, zip, member, limits);
          try {
            Tensor array = read_npy(source, limits);
            bytes += array.bytes();
            result.arrays.emplace_back(name, std::move(array));
          } catch (const Error& error) {
            if (error.code() != ErrorCode::unsupported) throw;
            result.left_out.push_back({name, error.message()});
          }
        },
        [&] { return "member " + quoted(member.name); });
    if (bytes > limits.weight_bytes) fail(ErrorCode::limit, "arrays of ", bytes, " bytes");
  }
  return result;
}

}  // namespace ondine
