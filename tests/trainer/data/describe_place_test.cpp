// Messages about files and folders without data.
#include "trainer/data/describe_place.h"

#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/data.h>
#include <ondine/error.h>

#include "tests/support/bitmap.h"
#include "tests/support/temporary_folder.h"

namespace ondine::test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

struct Places {
  fs::path write(const std::string& name, const std::string& bytes) const {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return folder / name;
  }
  static std::string refusal(const std::vector<fs::path>& places) {
    try {
      Dataset::open(places);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder;
};

}  // namespace

TEST_CASE("a file that is no data says what it is and what data would be") {
  const Places places;
  const auto refuse = [&](const std::string& name, const std::string& bytes,
                          const std::string& what) {
    CAPTURE(name);
    CHECK_THAT(Places::refusal({places.write(name, bytes + std::string(600, ' '))}),
               Contains("the file is " + what) && Contains(name) && Contains("data is IDX, .npy"));
  };
  refuse("a.gif", "GIF89a", "a GIF image;");
  refuse("a.parquet", "PAR1", "a Parquet table;");
  refuse("a.pdf", "%PDF-1.7", "a PDF document;");
  refuse("a.h5", "\x89HDF\r\n\x1a\n", "an HDF5 file;");
  refuse("a.pkl", "\x80\x04\x95", "a pickle of Python;");
  refuse("a.xlsx", "PK\x03\x04", "an Excel workbook;");
  refuse("a.pt", "PK\x03\x04", "a file of PyTorch;");
  refuse("a.zip", "PK\x03\x04", "a zip archive, which is read where");
  refuse("picture", "\x89PNG\r\n", "a PNG image, which needs the extension .png");
  refuse("a.xz",
         "\xfd"
         "7zXZ",
         "data compressed by xz");
  refuse("a.json", "[{\"a\": 1}]", "a JSON document, where .jsonl files");
  refuse("a.data", "1,2,3\n", "a text, which needs the extension .csv");
  refuse("a.bin", "\xfe\xed\xfa\xce", "of an unknown format;");
}

TEST_CASE("a folder without data says where it is, or what the folder holds") {
  const Places places;
  const std::string image = bitmap(1, 1, {{1, 2, 3}});
  places.write("pets/cat/2020/1.bmp", image);
  places.write("pets/dog/2020/1.bmp", image);
  CHECK_THAT(Places::refusal({places.folder / "pets"}),
             Contains("'cat/2020/1.bmp' lies too deep") && Contains("FOLDER/CLASS/FILE"));
  places.write("flat/train/1.bmp", image);
  CHECK_THAT(Places::refusal({places.folder / "flat"}),
             Contains("'train/1.bmp' does not lie in the folder of a class"));
  places.write("tables/b.CSV", "a,b\n1,2\n");
  CHECK_THAT(Places::refusal({places.folder / "tables"}),
             Contains("name its files, for example") && Contains("b.CSV"));
  places.write("other/notes.doc", "text");
  CHECK_THAT(Places::refusal({places.folder / "other"}),
             Contains("which holds 'notes.doc'; data is IDX"));
  fs::create_directories(places.folder / "none");
  CHECK_THAT(Places::refusal({places.folder / "none"}), Contains("is empty"));
}

TEST_CASE("arrays are found by their extension in capitals, in files and folders") {
  const Places places;
  save_array(places.folder / "x.npy", Tensor(DType::float32, {2, 3}));
  fs::create_directories(places.folder / "arrays");
  fs::rename(places.folder / "x.npy", places.folder / "arrays/X_TRAIN.NPY");
  places.write("arrays/._X_TRAIN.NPY", "of another system");
  CHECK(Dataset::open(places.folder / "arrays").rows() == 2);
  CHECK(load_arrays(places.folder / "arrays/X_TRAIN.NPY")[0].first == "X_TRAIN");
}

TEST_CASE("files of different kinds are no data set") {
  const Places places;
  const fs::path table = places.write("a.csv", "a,b\n1,2\n");
  save_array(places.folder / "x.npy", Tensor(DType::float32, {2, 3}));
  for (const std::vector<fs::path>& both :
       {std::vector<fs::path>{table, places.folder / "x.npy"},
        std::vector<fs::path>{places.folder / "x.npy", table}}) {
    CHECK_THAT(Places::refusal(both), Contains("files of different kinds are no data set: ") &&
                                          Contains("a.csv'") && Contains("x.npy'"));
  }
}

TEST_CASE("rows that a file only claims take no memory") {
  const Places places;
  const auto idx = [&](const std::string& extents) {
    return places.write(
        "rows.idx", std::string("\0\0\x08", 3) + static_cast<char>(extents.size() / 4) + extents);
  };
  for (const std::string& extents : {std::string("\x40\0\0\0\0\0\0\0", 8),
                                     std::string("\x7f\xff\xff\xff\0\0\0\0\0\0\0\2", 12)}) {
    const Dataset data = Dataset::open(idx(extents));
    CHECK(data.rows() == 0);
    CHECK_THROWS_WITH(Feeder(std::vector{PortInfo{"x", "T", DType::float32, {{-1, 0}}}}, data),
                      Contains("'rows' (rows without elements)"));
    CHECK(data.batches(8).count() == 0);
  }
}

}  // namespace ondine::test
