// Images of few positions side by side as one matrix, with a row for each channel: one product then
// reads the weights once for all of them.
#pragma once

#include "kernels/conv/algorithms/algorithm.h"
#include "kernels/conv/algorithms/plane_rows.h"

namespace ondine::math {

class JoinedImages {
 public:
  JoinedImages(std::int64_t batch, std::int64_t plane) : batch_(batch), plane_(plane) {
    // Larger planes are columns enough, and copying them costs more than packing weights again.
    constexpr std::int64_t max_plane = 128;
    constexpr std::int64_t positions = 512;
    if (plane <= max_plane) images_ = even_chunk(batch, positions / plane);
  }

  std::int64_t images() const { return images_; }        // 1: nothing is joined
  std::int64_t row() const { return images_ * plane_; }  // elements of a row
  // Images joined from `image` on; fewer at the end.
  std::int64_t images_from(std::int64_t image) const { return std::min(images_, batch_ - image); }

  std::int64_t last() const { return images_from((batch_ - 1) / images_ * images_); }

  // The planes of `count` images of so many channels, and back.
  template <class T>
  void join(ThreadPool& pool, const T* planes, std::int64_t channels, std::int64_t count,
            T* rows) const {
    for_channels(pool, channels, [&](std::int64_t first, std::int64_t some) {
      join_rows(plane_rows<T>(channels, count), planes, first, some, rows + first * row());
    });
  }
  template <class T>
  void part(ThreadPool& pool, const T* rows, std::int64_t channels, std::int64_t count,
            T* planes) const {
    for_channels(pool, channels, [&](std::int64_t first, std::int64_t some) {
      part_rows(plane_rows<T>(channels, count), rows + first * row(), first, some, planes);
    });
  }

 private:
  template <class T>
  PlaneRows plane_rows(std::int64_t channels, std::int64_t count) const {
    return {count, channels, plane_, sizeof(T), row()};
  }
  // body(first channel, how many)
  template <class Body>
  void for_channels(ThreadPool& pool, std::int64_t channels, const Body& body) const {
    const std::int64_t grain = grain_of(row(), std::int64_t{1} << 15);
    pool.for_chunks(channels, grain,
                    [&](std::int64_t first, std::int64_t last) { body(first, last - first); });
  }

  std::int64_t batch_, plane_;
  std::int64_t images_ = 1;
};

}  // namespace ondine::math
