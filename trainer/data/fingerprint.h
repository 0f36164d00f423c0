// Fingerprint that tells a data set from another one without reading all of it.
#pragma once

#include <string>

#include <ondine/dataset.h>

namespace ondine::data {

// 16 hexadecimal digits of a hash over the number of rows, the classes, the names and types of the
// columns and up to 64 rows at even distances: their elements, or the names of their files. The
// folder of the files does not count.
std::string fingerprint(const Dataset& data);

// Hashes all rows; of columns with more than 2^20 rows or 256 MiB, so many at even distances.
// Elements of files that need decoding are not read.
std::string thorough_fingerprint(const Dataset& data);

}  // namespace ondine::data
