// The axis of an output that has an entry for each class.
#pragma once

#include <cstddef>
#include <vector>

#include <ondine/shape.h>

namespace ondine::fit {

// Whether labels of this shape may belong to an output whose classes are `axis`: without it the
// output has their elements.
bool fits_class_axis(const Shape& output, const Shape& labels, std::size_t axis);

// The axes after the first whose removal leaves the shape of the labels, but for axes of one
// element and neighbouring axes that labels have as one. More than one: the shapes do not tell.
std::vector<std::size_t> possible_class_axes(const Shape& output, const Shape& labels);

}  // namespace ondine::fit
