#include <ondine/masks.h>

#include <catch2/catch.hpp>
#include <vector>

#include <ondine/dataset.h>
#include <ondine/error.h>

#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

using Bytes = std::vector<std::uint8_t>;

}  // namespace

TEST_CASE("a stretched output gives each pixel of the picture the class at its position") {
  CHECK(picture_mask(Bytes{1, 2, 3, 4}, {2, 2}, {2, 4}, ImageFit::stretch) ==
        Bytes{1, 1, 2, 2, 3, 3, 4, 4});
  CHECK(picture_mask(Bytes{1, 2, 3, 4}, {2, 2}, {1, 2}, ImageFit::stretch) == Bytes{3, 4});
  CHECK(picture_mask(Bytes{1, 2, 3, 4}, {2, 2}, {2, 2}, ImageFit::crop) == Bytes{1, 2, 3, 4});
}

TEST_CASE("pixels that were cropped away have no class") {
  // The two columns in the middle of 2 x 4 pixels were seen.
  CHECK(picture_mask(Bytes{1, 2, 3, 4}, {2, 2}, {2, 4}, ImageFit::crop) ==
        Bytes{255, 1, 2, 255, 255, 3, 4, 255});
}

TEST_CASE("a mask is a picture that is read back as it was written") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "images");
  std::filesystem::create_directories(folder / "masks");
  write_mask(folder / "images/a.png", Bytes{9, 9, 9, 9, 9, 9}, {2, 3});
  write_mask(folder / "masks/a.png", Bytes{0, 1, 2, 2, 1, 0}, {2, 3});
  const Dataset data = Dataset::open(folder.path());
  CHECK(data.classes().size() == 3);
  CHECK_THROWS_WITH(write_mask(folder / "b.png", Bytes{1, 2}, {2, 3}),
                    Contains("a mask of 2x3 pixels has 2 classes"));
  CHECK_FALSE(std::filesystem::exists(folder / "b.png"));
}
