// What the files of this folder share.
#pragma once

#include "kernels/simd/conv/conv_table.h"
#include "kernels/simd/isa_tables.h"
