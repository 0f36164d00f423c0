#include "trainer/data/augment/augmenter.h"

#include <algorithm>

#include "core/message.h"
#include "trainer/data/augment/sound.h"

namespace ondine::data {
namespace {

// share * to + (1 - share) * other
void blend(std::byte* to, const std::byte* other, const RowType& type, double share) {
  const auto count = static_cast<std::size_t>(Shape(type.dims).size());
  const PlaneLayout flat{1, 1, static_cast<std::int64_t>(count), false};
  std::vector<float> a;
  std::vector<float> b;
  load_planes(to, type.dtype, flat, a);
  load_planes(other, type.dtype, flat, b);
  const auto first = static_cast<float>(share);
  for (std::size_t i = 0; i < count; ++i) a[i] = first * a[i] + (1 - first) * b[i];
  store_planes(a, type.dtype, flat, to);
}

}  // namespace

Augmenter::Augmenter(const Augmentation& options, std::uint64_t seed,
                     std::vector<RowSource> sources, std::span<const std::string> model_inputs,
                     std::span<const std::uint64_t> rows)
    : options_(options), seed_(seed), rows_(rows.begin(), rows.end()) {
  require_valid(options);
  for (RowSource& source : sources) parts_.push_back({std::move(source), {}, false, false});
  find_parts(model_inputs);
  if (options.mixup != 0) require_mixable();
}

void Augmenter::find_parts(std::span<const std::string> model_inputs) {
  std::optional<PlaneLayout> images;
  bool has_sound = false;
  for (Part& part : parts_) {
    const bool fed = std::find(model_inputs.begin(), model_inputs.end(), part.source.input) !=
                     model_inputs.end();
    if (!fed || !has_planes(part.source.type.dtype)) continue;
    part.is_sound = part.source.column->sample_rate() > 0;
    has_sound = has_sound || part.is_sound;
    const auto layout = plane_layout(part.source);
    if (part.is_sound || !layout) continue;
    part.is_image = true;
    part.layout = layout;
    if (!images) images = layout;
  }
  const bool for_sound = options_.time_shift != 0 || options_.noise != 0;
  Augmentation rest = options_;
  rest.time_shift = rest.noise = rest.mixup = 0;
  const bool for_images = !describe(rest).empty();
  if (for_sound && !has_sound) refuse("time-shift and noise need", "recordings");
  if (!images && (for_images || !has_sound)) {
    refuse("augmentation needs", "images, [C, H, W] or [H, W, C] with 1 or 3 channels");
  }
  if (images) find_positions(*images);
}

// Parts with the positions of the images move with them.
void Augmenter::find_positions(const PlaneLayout& images) {
  for (Part& part : parts_) {
    if (part.is_image || part.is_sound || part.source.type.dims.size() < 2) continue;
    const auto layout = plane_layout(part.source);
    if (layout && layout->height == images.height && layout->width == images.width) {
      part.layout = layout;
    }
  }
}

void Augmenter::refuse(const char* what, const char* rows) const {
  std::string all;
  for (const Part& part : parts_) {
    all += (all.empty() ? "" : ", ") + quoted(part.source.input) + " " +
           cat(part.source.type.dtype) + Shape(part.source.type.dims).to_string();
  }
  fail(ErrorCode::mismatch, what, " an input of the model with rows of ", rows,
       "; the rows are: ", all);
}

void Augmenter::require_mixable() const {
  for (const Part& part : parts_) {
    if (part.is_image || part.is_sound ||
        (is_float(part.source.type.dtype) && has_planes(part.source.type.dtype))) {
      continue;
    }
    fail(ErrorCode::mismatch, "mixup needs labels that are probabilities, input ",
         quoted(part.source.input), " is ", part.source.type.dtype,
         "; prepare the model with soft labels (--soft-labels)");
  }
}

void Augmenter::change_part(const Part& part, const Draws& draws, std::byte* row) const {
  const DType dtype = part.source.type.dtype;
  const PlaneLayout& layout = *part.layout;
  if (!has_planes(dtype) || (!part.is_image && !is_float(dtype))) {
    return move_elements(row, size_of(dtype), layout, draws);
  }
  std::vector<float> planes;
  load_planes(row, dtype, layout, planes);
  move_planes(planes, layout, draws);
  if (part.is_image) {
    if (options_.color != 0) {
      change_colors(planes, layout, draws, part.source.column->white(part.source.type));
    }
    if (options_.cutout != 0) cut_square(planes, layout, draws, options_.cutout);
  }
  store_planes(planes, dtype, layout, row);
}

void Augmenter::change_sounds(const Part& part, const RowKey& key, std::byte* row) const {
  const RowType& type = part.source.type;
  const PlaneLayout flat{1, 1, Shape(type.dims).size(), false};
  if (type.dtype == DType::float32) {
    const std::span all(reinterpret_cast<float*>(row), flat.size());
    return change_sound(all, part.source.column->sample_rate(), options_, key);
  }
  std::vector<float> samples;
  load_planes(row, type.dtype, flat, samples);
  change_sound(samples, part.source.column->sample_rate(), options_, key);
  store_planes(samples, type.dtype, flat, row);
}

void Augmenter::change_alone(const RowKey& key, std::span<std::byte* const> entries) const {
  const Draws draws = draw(options_, key);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].layout) change_part(parts_[i], draws, entries[i]);
    if (parts_[i].is_sound) change_sounds(parts_[i], key, entries[i]);
  }
}

void Augmenter::mix(const RowKey& key, std::span<std::byte* const> entries) const {
  const std::uint64_t partner = rows_[draw_partner(key, rows_.size())];
  const double share = draw_share(options_.mixup, key);
  std::vector<std::vector<std::byte>> others;
  std::vector<std::byte*> starts;
  for (const Part& part : parts_) {
    std::vector<std::byte>& other = others.emplace_back(part.source.type.bytes());
    part.source.column->copy(std::span(&partner, 1), part.source.type, other.data());
    starts.push_back(other.data());
  }
  change_alone({key.seed, key.epoch, partner}, starts);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    blend(entries[i], starts[i], parts_[i].source.type, share);
  }
}

void Augmenter::change(std::uint64_t epoch, std::uint64_t row,
                       std::span<std::byte* const> entries) const {
  const RowKey key{seed_, epoch, row};
  change_alone(key, entries);
  if (options_.mixup != 0) mix(key, entries);
}

}  // namespace ondine::data
