#include "trainer/data/describe_place.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/files/file.h"
#include "core/message.h"
#include "core/text/utf8.h"
#include "trainer/data/file_names.h"
#include "trainer/data/files/file_kind.h"

namespace ondine::data {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

constexpr const char* formats =
    "IDX, .npy, .npz, .csv, .tsv, .jsonl, .txt, images (PNG, JPEG, BMP, WebP, TIFF) or recordings "
    "(WAV, FLAC, Ogg)";

struct Magic {
  std::size_t at;
  std::string_view bytes;
  const char* what;
};
constexpr std::array<Magic, 32> magics{{
    {0, "\x89PNG\r\n"sv, "a PNG image, which needs the extension .png"},
    {0, "\xff\xd8\xff"sv, "a JPEG image, which needs the extension .jpg"},
    {0, "GIF8"sv, "a GIF image"},
    {8, "WEBP"sv, "a WebP image, which needs the extension .webp"},
    {0, "II*\0"sv, "a TIFF image, which needs the extension .tif"},
    {0, "MM\0*"sv, "a TIFF image, which needs the extension .tif"},
    {8, "WAVE"sv, "a WAV recording, which needs the extension .wav"},
    {0, "fLaC"sv, "a FLAC recording, which needs the extension .flac"},
    {0, "OggS"sv, "an Ogg recording, which needs the extension .ogg"},
    {0, "ID3"sv, "an MP3 recording"},
    {0, "\xff\xfb"sv, "an MP3 recording"},
    {8, "AVI "sv, "a video (AVI)"},
    {4, "ftyp"sv, "a video or an image in an MP4 container"},
    {0, "%PDF"sv, "a PDF document"},
    {0, "PAR1"sv, "a Parquet table"},
    {0, "ARROW1"sv, "an Arrow table"},
    {0, "\x89HDF\r\n"sv, "an HDF5 file"},
    {0, "CDF\x01"sv, "a netCDF file"},
    {0, "MATLAB 5.0"sv, "a MATLAB file"},
    {0, "SQLite format 3"sv, "an SQLite database"},
    {0, "\xd0\xcf\x11\xe0"sv, "an old document of Microsoft Office"},
    {0, "\x80\x02"sv, "a pickle of Python"},
    {0, "\x80\x03"sv, "a pickle of Python"},
    {0, "\x80\x04"sv, "a pickle of Python"},
    {0, "\x80\x05"sv, "a pickle of Python"},
    {0, "BZh"sv, "data compressed by bzip2, where gzip is read"},
    {0,
     "\xfd"
     "7zXZ"sv,
     "data compressed by xz, where gzip is read"},
    {0, "\x28\xb5\x2f\xfd"sv, "data compressed by zstd, where gzip is read"},
    {0, "7z\xbc\xaf"sv, "a 7z archive"},
    {0, "Rar!"sv, "a RAR archive"},
    {257, "ustar"sv, "a tar archive"},
    {0, "BM"sv, "a BMP image, which needs the extension .bmp"},
}};

std::string describe_zip(const fs::path& file) {
  const std::string extension = extension_of(file);
  if (extension == ".xlsx" || extension == ".xlsm") return "an Excel workbook";
  if (extension == ".pt" || extension == ".pth") return "a file of PyTorch";
  if (extension == ".ods") return "a spreadsheet";
  return "a zip archive, which is read where it holds arrays and has the extension .npz";
}

bool is_text(std::string_view bytes) {
  // The last character may be cut off.
  const std::size_t prefix = utf8_prefix(bytes);
  return prefix + 4 > bytes.size() && std::none_of(bytes.begin(), bytes.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x09;
         });
}

std::string describe_bytes(std::string_view bytes, const fs::path& file) {
  if (bytes.starts_with("PK\x03\x04"sv)) return describe_zip(file);
  for (const Magic& magic : magics) {
    const bool is_there =
        bytes.size() > magic.at && bytes.substr(magic.at).starts_with(magic.bytes);
    if (is_there) return magic.what;
  }
  const std::string extension = content_extension(file);
  if (extension == ".onnx") return "a model";
  if (!is_text(bytes)) return "of an unknown format";
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  const char start = first == std::string_view::npos ? '\0' : bytes[first];
  if (extension == ".json" || start == '{' || start == '[') {
    return "a JSON document, where .jsonl files hold an object on each line";
  }
  return "a text, which needs the extension .csv, .tsv, .jsonl or .txt to be read as such";
}

std::vector<std::string> names_in(const fs::path& folder) {
  PosixFileSystem system;
  std::vector<std::string> names;
  require_found(system.list(folder.string(), names), "list", folder.string());
  std::erase_if(names, [](const std::string& name) { return name.starts_with('.'); });
  std::sort(names.begin(), names.end());
  return names;
}

bool is_file_of_rows(const std::string& name) {
  return image_files.has(name) || sound_files.has(name);
}

// The first image or recording up to `levels` folders below, by its path from the folder; empty
// where there is none.
std::string find_below(const fs::path& folder, int levels) {
  const std::vector<std::string> names = names_in(folder);
  const auto file = std::find_if(names.begin(), names.end(), is_file_of_rows);
  if (file != names.end()) return *file;
  for (const std::string& name : names) {
    std::error_code error;
    if (levels == 0 || !fs::is_directory(folder / name, error)) continue;
    if (const std::string found = find_below(folder / name, levels - 1); !found.empty()) {
      return name + "/" + found;
    }
  }
  return {};
}

}  // namespace

std::string describe_content(std::span<const std::byte> content, const fs::path& file) {
  const auto start = content.first(std::min<std::size_t>(content.size(), 512));
  return describe_bytes({reinterpret_cast<const char*>(start.data()), start.size()}, file) +
         "; data is " + formats;
}

void refuse_folder(const fs::path& folder, const std::vector<std::string>& names) {
  constexpr int levels = 4;
  const std::string place = quoted(folder.string());
  if (const std::string deep = find_below(folder, levels); !deep.empty()) {
    const bool is_deep = std::count(deep.begin(), deep.end(), '/') > 1;
    fail(ErrorCode::mismatch, "no data in folder ", place, ": ", quoted(deep),
         is_deep ? " lies too deep" : " does not lie in the folder of a class",
         "; the files of a class are FOLDER/CLASS/FILE or FOLDER/train/CLASS/FILE");
  }
  std::vector<std::string> shown = names;
  std::erase_if(shown, [](const std::string& name) { return name.starts_with('.'); });
  std::sort(shown.begin(), shown.end());
  if (shown.empty()) fail(ErrorCode::mismatch, "folder ", place, " is empty");
  for (const std::string& name : shown) {
    const std::string extension = content_extension(name);
    if (extension != ".csv" && extension != ".tsv" && extension != ".jsonl") continue;
    fail(ErrorCode::mismatch, "no data in folder ", place, ": name its files, for example ",
         quoted((folder / name).string()));
  }
  fail(ErrorCode::mismatch, "no data in folder ", place, ", which holds ", quoted(shown[0]),
       shown.size() > 1 ? " and others" : "", "; data is ", formats);
}

}  // namespace ondine::data
