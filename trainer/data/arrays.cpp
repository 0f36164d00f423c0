// Telling data files apart, and their names.
#include <algorithm>
#include <array>
#include <set>

#include <ondine/data.h>

#include "core/files/file.h"
#include "core/out_of_memory.h"
#include "core/text/letters.h"
#include "trainer/data/array_splits.h"
#include "trainer/data/arrays.h"
#include "trainer/data/column.h"
#include "trainer/data/describe_place.h"
#include "trainer/data/file_names.h"
#include "trainer/data/split_words.h"

namespace ondine {
namespace {

namespace fs = std::filesystem;
using data::cut_split;
using data::Split;
using data::split_of;

bool is_npz(const fs::path& file) { return data::content_extension(file) == ".npz"; }

Tensor read_array(SharedSource& source, const fs::path& file, const Limits& limits) {
  constexpr std::array<unsigned char, 6> npy{0x93, 'N', 'U', 'M', 'P', 'Y'};
  const auto start = source.rest();
  if (start.size() < npy.size()) fail(ErrorCode::corrupt, "too short for an array");
  if (std::equal(npy.begin(), npy.end(), start.begin(), [](unsigned char a, std::byte b) {
        return a == std::to_integer<unsigned char>(b);
      })) {
    return read_npy(source, limits);
  }
  if (start[0] == std::byte{0} && start[1] == std::byte{0}) return read_idx(source, limits);
  fail(ErrorCode::corrupt, "the file is ", data::describe_content(start, file));
}

// The name without directories and extensions; "-idx3-ubyte" and the like are no part of it.
std::string stem_of(const fs::path& file) {
  std::string name = file.filename().string();
  for (const std::string_view extension : {".gz", ".npy", ".npz", ".idx"}) {
    if (lower_case(name).ends_with(extension)) name.resize(name.size() - extension.size());
  }
  const std::size_t idx = name.find("idx");
  if (idx != std::string::npos && idx > 0 && name.find("ubyte", idx) != std::string::npos) {
    name.resize(idx - 1);
  }
  return name;
}

bool is_idx_name(const fs::path& file) {
  const std::string name = lower_case(file.filename().string());
  return name.find("-ubyte") != std::string::npos || name.find(".idx") != std::string::npos;
}

// emnist-letters-train-images: what stands before the split tells the family.
void cut_family(std::string& name) {
  for (std::size_t at = name.find('-'); at != std::string::npos; at = name.find('-')) {
    const Split split = split_of(name.substr(0, at));
    if (split != Split::unknown) return;
    name.erase(0, at + 1);
  }
}

bool is_data_file(const fs::path& file) {
  const std::string extension = data::content_extension(file);
  return extension == ".npy" || extension == ".npz" || is_idx_name(file);
}

std::vector<fs::path> data_files(std::span<const fs::path> places) {
  std::vector<fs::path> files;
  for (const fs::path& place : places) {
    std::error_code error;
    if (!fs::is_directory(place, error)) {
      files.push_back(place);
      continue;
    }
    // A directory_iterator that reports by error code ends the program when memory runs out.
    PosixFileSystem system;
    std::vector<std::string> names;
    require_found(system.list(place.string(), names), "list", place.string());
    std::vector<fs::path> inside;
    for (const std::string& name : names) {
      const fs::path file = place / name;
      if (name.starts_with('.')) continue;  // macOS leaves "._x.npy" beside x.npy
      if (is_data_file(file) && fs::is_regular_file(file, error)) inside.push_back(file);
    }
    if (inside.empty()) data::refuse_folder(place, names);
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

Archive read_file(const fs::path& file, const Limits& limits) {
  Archive result;
  if (!is_npz(file)) {
    result.arrays.emplace_back(stem_of(file), load_array(file, limits));
    return result;
  }
  with_data(file, limits, [&](SharedSource& source) { result = read_npz(source, limits); });
  return result;
}

}  // namespace

Tensor load_array(const fs::path& file, const Limits& limits) {
  return guard_memory("read the data", [&] {
    Tensor result;
    with_data(file, limits,
              [&](SharedSource& source) { result = read_array(source, file, limits); });
    return result;
  });
}

NamedValues load_arrays(const fs::path& file, const Limits& limits) {
  return guard_memory("read the data", [&] {
    NamedValues result;
    for (auto& [name, array] : read_file(file, limits).arrays) {
      result.emplace_back(std::move(name), std::move(array));
    }
    return result;
  });
}

DataSplits load_splits(std::span<const fs::path> places, const Limits& limits) {
  return guard_memory("read the data", [&] { return data::read_arrays(places, limits).splits; });
}

data::ArrayParts data::read_arrays(std::span<const fs::path> places, const Limits& limits) {
  std::vector<NamedArray> found;
  std::vector<LeftOutArray> left_out;
  for (const fs::path& file : data_files(places)) {
    std::string stem = stem_of(file);
    if (is_idx_name(file)) cut_family(stem);
    const Split of_file = cut_split(stem);
    Archive content = read_file(file, limits);
    left_out.insert(left_out.end(), content.left_out.begin(), content.left_out.end());
    for (auto& [name, array] : content.arrays) {
      std::string short_name = is_npz(file) ? name : stem;
      Split split = is_npz(file) ? cut_split(short_name) : of_file;
      if (split == Split::unknown) split = of_file;
      if (short_name.empty()) short_name = name;
      found.push_back({name, short_name, split, file.string(), std::move(array)});
    }
  }
  ArrayParts result = split_arrays(std::move(found));
  result.left_out = std::move(left_out);
  if (result.splits.train.empty() && result.splits.validation.empty()) {
    fail(ErrorCode::mismatch, "no data", describe(result.left_out));
  }
  return result;
}

}  // namespace ondine
