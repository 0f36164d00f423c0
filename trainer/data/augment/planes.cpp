#include "trainer/data/augment/planes.h"

#include <algorithm>
#include <cmath>

#include "core/float_formats.h"

namespace ondine::data {
namespace {

std::optional<PlaneLayout> layout_of(std::span<const std::int64_t> row) {
  const auto is_channels = [](std::int64_t dim) { return dim == 1 || dim == 3; };
  if (row.size() == 2 && row[0] > 1 && row[1] > 1) return PlaneLayout{1, row[0], row[1], false};
  if (row.size() != 3) return {};
  if (is_channels(row[0])) return PlaneLayout{row[0], row[1], row[2], false};
  if (is_channels(row[2])) return PlaneLayout{row[2], row[0], row[1], true};
  return {};
}

std::size_t place(const PlaneLayout& layout, std::size_t channel, std::size_t pixel) {
  return layout.channels_last ? pixel * static_cast<std::size_t>(layout.channels) + channel
                              : channel * layout.area() + pixel;
}

template <class Use>
void for_each_element(const PlaneLayout& layout, const Use& use) {
  const auto channels = static_cast<std::size_t>(layout.channels);
  std::size_t i = 0;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t p = 0; p < layout.area(); ++p) use(i++, place(layout, c, p));
  }
}

template <class T, class Convert>
void load_as(const std::byte* row, const PlaneLayout& layout, std::vector<float>& planes,
             const Convert& convert) {
  const auto* from = reinterpret_cast<const T*>(row);
  for_each_element(layout, [&](std::size_t i, std::size_t at) { planes[i] = convert(from[at]); });
}

template <class T, class Convert>
void store_as(const std::vector<float>& planes, const PlaneLayout& layout, std::byte* row,
              const Convert& convert) {
  auto* to = reinterpret_cast<T*>(row);
  for_each_element(layout, [&](std::size_t i, std::size_t at) { to[at] = convert(planes[i]); });
}

template <class T>
T converted(float value) {
  return static_cast<T>(value);
}

std::uint8_t to_byte(float value) {
  return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0F, 255.0F)));
}

std::int16_t to_int16(float value) {
  return static_cast<std::int16_t>(std::lround(std::clamp(value, -32768.0F, 32767.0F)));
}

}  // namespace

std::optional<PlaneLayout> plane_layout(const RowSource& source) {
  if (source.type.dims.size() > 1) return layout_of(source.type.dims);
  const PortInfo stored = source.column->port();
  if (source.type.dims.size() != 1 || !stored.dims || stored.dims->empty()) return {};
  const auto layout = layout_of(std::span(*stored.dims).subspan(1));
  if (!layout || layout->size() != static_cast<std::size_t>(source.type.dims[0])) return {};
  return layout;
}

bool has_planes(DType dtype) noexcept {
  return dtype == DType::uint8 || dtype == DType::int16 || dtype == DType::float32 ||
         dtype == DType::float64 || dtype == DType::float16 || dtype == DType::bfloat16;
}

void load_planes(const std::byte* row, DType dtype, const PlaneLayout& layout,
                 std::vector<float>& planes) {
  planes.resize(layout.size());
  switch (dtype) {
    case DType::uint8:
      return load_as<std::uint8_t>(row, layout, planes,
                                   [](std::uint8_t one) { return static_cast<float>(one); });
    case DType::int16:
      return load_as<std::int16_t>(row, layout, planes,
                                   [](std::int16_t one) { return static_cast<float>(one); });
    case DType::float64:
      return load_as<double>(row, layout, planes,
                             [](double one) { return static_cast<float>(one); });
    case DType::float16:
      return load_as<float16>(row, layout, planes, [](float16 one) { return to_float(one); });
    case DType::bfloat16:
      return load_as<bfloat16>(row, layout, planes, [](bfloat16 one) { return to_float(one); });
    default:
      return load_as<float>(row, layout, planes, [](float one) { return one; });
  }
}

void store_planes(const std::vector<float>& planes, DType dtype, const PlaneLayout& layout,
                  std::byte* row) {
  switch (dtype) {
    case DType::uint8:
      return store_as<std::uint8_t>(planes, layout, row, to_byte);
    case DType::int16:
      return store_as<std::int16_t>(planes, layout, row, to_int16);
    case DType::float64:
      return store_as<double>(planes, layout, row, converted<double>);
    case DType::float16:
      return store_as<float16>(planes, layout, row, [](float one) { return to_float16(one); });
    case DType::bfloat16:
      return store_as<bfloat16>(planes, layout, row, [](float one) { return to_bfloat16(one); });
    default:
      return store_as<float>(planes, layout, row, converted<float>);
  }
}

}  // namespace ondine::data
