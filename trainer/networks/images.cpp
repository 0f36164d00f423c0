// Networks that read images.
#include <algorithm>

#include "core/message.h"
#include "trainer/data/column.h"
#include "trainer/finetune/read_column.h"
#include "trainer/finetune/scaling.h"
#include "trainer/networks/kinds.h"

namespace ondine::networks {
namespace {

std::vector<ImageSize> sizes_of_files(const Brief& brief) {
  constexpr std::uint64_t most = 200;
  const data::Dims any{3, -1, -1};
  const std::uint64_t count = std::min(most, brief.data.rows());
  std::vector<ImageSize> sizes;
  const Dataset::Part& part = data::PartAccess::of(brief.data);
  for (const auto& column : part.columns) {
    if (column->name() != brief.facts.rows) continue;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t row = i * brief.data.rows() / count;
      const data::Dims dims = column->dims_of(part.stored(row), any);
      sizes.push_back({dims[1], dims[2]});
    }
  }
  return sizes;
}

ImageSize usual_size(const Brief& brief, std::int64_t most) {
  std::vector<ImageSize> sizes = sizes_of_files(brief);
  const ImageSize first = sizes.at(0);
  const bool is_same = std::all_of(sizes.begin(), sizes.end(), [&](const ImageSize& one) {
    return one.height == first.height && one.width == first.width;
  });
  if (is_same && std::max(first.height, first.width) <= most) return first;
  std::vector<std::int64_t> sides;
  for (const ImageSize& one : sizes) sides.push_back(std::min(one.height, one.width));
  std::sort(sides.begin(), sides.end());
  const std::int64_t side = std::min(most, sides[sides.size() / 2]);
  return {side, side};
}

// Dims of an array's row without the channels.
ImageSize size_of_array(const Brief& brief) {
  const auto& row = brief.facts.row;
  return {row.size() < 2 ? 1 : row[row.size() - 2], row.empty() ? 1 : row.back()};
}

}  // namespace

std::int64_t channels_of(const Brief& brief) {
  const auto& row = brief.facts.row;
  if (brief.facts.are_files) return 3;
  if (row.size() <= 2) return 1;
  if (row[0] == 1 || row[0] == 3) return row[0];
  fail(ErrorCode::mismatch, "images need 1 or 3 channels as the first axis of a row, found ",
       Shape(row), "; --layout nhwc takes them from the last");
}

ImageSize image_size_of(const Brief& brief, std::int64_t most, std::int64_t step) {
  ImageSize size =
      brief.facts.are_files ? brief.options.image_size.value_or(ImageSize{}) : size_of_array(brief);
  const auto& row = brief.facts.row;
  const bool is_set = brief.facts.are_files && row.size() == 3 && row[1] > 0 && row[2] > 0;
  if (is_set) size = {row[1], row[2]};
  const bool is_chosen = brief.facts.are_files && size.height == 0;
  if (is_chosen) {
    size = usual_size(brief, most);
    size = {std::max(step, size.height / step * step), std::max(step, size.width / step * step)};
  }
  if (size.height <= 0 || size.width <= 0 || size.height % step != 0 || size.width % step != 0) {
    fail(ErrorCode::mismatch, "the network needs images whose sides are multiples of ", step,
         ", found ", size.height, "x", size.width);
  }
  return size;
}

Drawn draw_cnn(const Brief& brief) {
  require_row_targets(brief, NetworkKind::cnn);
  constexpr std::int64_t most_side = 128;
  constexpr std::int64_t last_side = 7;  // of the maps that the linear layer reads, at most
  constexpr std::int64_t features = 128;
  constexpr std::int64_t most_channels = 64;
  const std::int64_t channels = channels_of(brief);
  const ImageSize size = image_size_of(brief, most_side, 1);
  Layers layers("cnn", brief.options.seed);
  const std::string name = brief.facts.rows;
  std::string x =
      layers.builder().input(name, DType::float32, {"N", channels, size.height, size.width});
  ImageSize left = size;
  std::int64_t from = channels;
  std::int64_t to = 16;
  int convolutions = 0;
  do {
    x = layers.conv(x, cat("conv", ++convolutions), {from, to});
    from = to;
    to = std::min(most_channels, 2 * to);
    if (std::min(left.height, left.width) < 2) break;
    x = layers.pool(x);
    left = {left.height / 2, left.width / 2};
  } while (std::max(left.height, left.width) > last_side);
  x = layers.builder().node("Flatten", {x});
  x = layers.relu(layers.linear(x, "features", from * left.height * left.width, features));
  x = layers.scores(x, "head", features, brief.outputs());
  write_output(layers, x, brief.facts.target, {"N", brief.outputs()});
  const std::vector<std::int64_t> row{channels, size.height, size.width};
  const PortInfo input = tune::port_of(name, DType::float32, row);
  return {std::move(layers.builder()), tune::image_scaling(brief.data, brief.facts, input),
          cat("cnn of ", convolutions, " convolutions for images of ", channels, "x", size.height,
              "x", size.width)};
}

Drawn draw_unet(const Brief& brief) {
  if (!brief.facts.target.is_dense()) {
    fail(ErrorCode::mismatch, "a unet needs targets for each pixel, masks; ",
         tune::describe(brief.facts.target), " for each row needs a cnn");
  }
  constexpr std::int64_t most_side = 128;
  const std::int64_t channels = channels_of(brief);
  const ImageSize size = image_size_of(brief, most_side, 4);
  Layers layers("unet", brief.options.seed);
  ModelBuilder& builder = layers.builder();
  const std::string name = brief.facts.rows;
  const std::string image =
      builder.input(name, DType::float32, {"N", channels, size.height, size.width});
  const auto twice = [&](const std::string& x, const std::string& part, std::int64_t from,
                         std::int64_t to) {
    return layers.conv(layers.conv(x, part + "1", {from, to}), part + "2", {to, to});
  };
  const auto join = [&](const std::string& a, const std::string& b) {
    return builder.node("Concat", {a, b}, {{"axis", std::int64_t{1}}});
  };
  const std::string fine = twice(image, "down", channels, 16);
  const std::string half = twice(layers.pool(fine), "half", 16, 32);
  const std::string quarter = twice(layers.pool(half), "quarter", 32, 64);
  std::string x = join(half, layers.upsample(quarter, "up_half", 64, 32));
  x = twice(x, "back_half", 64, 32);
  x = join(fine, layers.upsample(x, "up", 32, 16));
  x = twice(x, "back", 32, 16);
  x = layers.pixel_scores(x, "head", 16, brief.outputs());
  write_output(layers, x, brief.facts.target, {"N", brief.outputs(), size.height, size.width});
  const std::vector<std::int64_t> row{channels, size.height, size.width};
  const PortInfo input = tune::port_of(name, DType::float32, row);
  return {std::move(builder), tune::image_scaling(brief.data, brief.facts, input),
          cat("unet of 3 levels for images of ", channels, "x", size.height, "x", size.width)};
}

}  // namespace ondine::networks
