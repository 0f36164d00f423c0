#include "trainer/layers/einsum_size.h"

#include <catch2/catch.hpp>
#include <vector>

using ondine::Shape;
using ondine::trainer::einsum_size;

TEST_CASE("the index space of an Einsum is the product of the sizes of its indices") {
  CHECK(einsum_size("ij,jk->ik", std::vector<Shape>{{2, 3}, {3, 5}}) == 2 * 3 * 5);
  CHECK(einsum_size("bhqd, bhkd -> bhqk", std::vector<Shape>{{2, 3, 5, 7}, {2, 3, 11, 7}}) ==
        2 * 3 * 5 * 7 * 11);
  CHECK(einsum_size("i,j", std::vector<Shape>{{4}, {6}}) == 24);
  CHECK(einsum_size("ii->i", std::vector<Shape>{{4, 4}}) == 4);
  CHECK(einsum_size("ij->", std::vector<Shape>{{4, 0}}) == 0);
}

TEST_CASE("axes after the ellipsis of an Einsum are aligned from the right and broadcast") {
  CHECK(einsum_size("...ij,...jk->...ik", std::vector<Shape>{{7, 2, 3}, {3, 5}}) == 7 * 2 * 3 * 5);
  CHECK(einsum_size("...ij,...jk->...ik", std::vector<Shape>{{7, 1, 2, 3}, {11, 3, 5}}) ==
        7 * 11 * 2 * 3 * 5);
  CHECK(einsum_size("i...,i...", std::vector<Shape>{{4, 1, 6}, {4, 5, 1}}) == 4 * 5 * 6);
}
