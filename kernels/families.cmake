# The families of kernels, bottom to top, and the families that each may include (and, through their
# headers, what those may). All of them know core/ and graph/ but simd/, which knows core/ alone.
set(ONDINE_FAMILIES)
# Their time is in other families, or in moving elements one by one.
set(ONDINE_SMALL_FAMILIES contrib control indexing ml sequence signal text)

# ondine_family(name KNOWS family...)
function(ondine_family name)
  cmake_parse_arguments(PARSE_ARGV 1 _arg "" "" KNOWS)
  set(_known ${name})
  foreach(_family IN LISTS _arg_KNOWS)
    list(APPEND _known ${ONDINE_KNOWN_${_family}})
  endforeach()
  list(REMOVE_DUPLICATES _known)
  set(ONDINE_KNOWN_${name} ${_known} PARENT_SCOPE)
  list(TRANSFORM _known PREPEND kernels/)
  file(GLOB_RECURSE _sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/${name}/*.cpp)
  ondine_system_sources(_sources)
  ondine_module(kernels_${name} SOURCES ${_sources} KNOWS core graph ${_known})
  target_compile_options(ondine_kernels_${name} PRIVATE -ftree-vectorize)
  if(name IN_LIST ONDINE_SMALL_FAMILIES)
    target_compile_options(ondine_kernels_${name} PRIVATE ${ONDINE_SMALL_OPTIONS})
  endif()
  ondine_kernel_headers(${name})
  set(ONDINE_OBJECTS ${ONDINE_OBJECTS} PARENT_SCOPE)
  set(ONDINE_FAMILIES ${ONDINE_FAMILIES} ${name} PARENT_SCOPE)
endfunction()

# Families that compile with the same options share a precompiled header: that of the first.
function(ondine_kernel_headers name)
  set(_options usual)
  if(ONDINE_SMALL_OPTIONS AND name IN_LIST ONDINE_SMALL_FAMILIES)
    set(_options small)
  endif()
  get_property(_first GLOBAL PROPERTY ONDINE_FIRST_FAMILY_${_options})
  if(_first)
    target_precompile_headers(ondine_kernels_${name} REUSE_FROM ondine_kernels_${_first})
    ondine_precompiled_warnings(ondine_kernels_${name})
  else()
    set_property(GLOBAL PROPERTY ONDINE_FIRST_FAMILY_${_options} ${name})
    ondine_precompile(ondine_kernels_${name} "\"kernels/common/op.h\""
      "\"kernels/common/infer_checks.h\"")
  endif()
endfunction()

include(${PROJECT_SOURCE_DIR}/kernels/simd/simd.cmake)
set(ONDINE_KNOWN_simd simd)

# Broadcasting, strided copies, conversion of dtypes, checks and parameters that families share.
ondine_family(common KNOWS simd)
# Arithmetic, comparisons, activations (elementwise.h).
ondine_family(elementwise KNOWS common)
# Cast, CastLike, BitCast (cast_rows.h).
ondine_family(cast KNOWS elementwise)
# Operators that only move elements: Reshape, Transpose, Concat, Split, Pad, Tile, Expand, ... by
# common/strided_copy.h; and the makers of constants: Constant, ConstantOfShape, Range, Shape, Size.
ondine_family(layout KNOWS common)
# Gather, Scatter, Slice, Compress, OneHot, ... (element_offsets.h).
ondine_family(indexing KNOWS common)
# Reduce*, cumulative sums, ArgMax, TopK (reduce.h).
ondine_family(reduce KNOWS elementwise)
# Random numbers and Dropout (random_rows.h).
ondine_family(random KNOWS elementwise)
# DFT, STFT and windows (fft.h).
ondine_family(signal KNOWS common)
# Resize, GridSample, AffineGrid, RoiAlign, MaxRoiPool, NonMaxSuppression, ImageDecoder (codecs/).
ondine_family(image KNOWS common)
# Operators on strings, with RE2 (regex.h) and the locales of the system (unicode.h).
ondine_family(text KNOWS elementwise)
# ai.onnx.ml (row_model.h).
ondine_family(ml KNOWS elementwise cast)
# Sequences and optionals (sequence.h).
ondine_family(sequence KNOWS common)
# If, Loop, Scan, SequenceMap (loop.h).
ondine_family(control KNOWS sequence)
# Adam, Adagrad, Momentum, and each as a sink (optimizer.h, update_sink.h).
ondine_family(optimizer KNOWS elementwise)
# MatMul, Gemm, Einsum, Det and SGD updates (gemm_primitive.h).
ondine_family(matmul KNOWS optimizer)
# Determinants, inverses and products of integers; threads are those of the pool.
target_include_directories(ondine_kernels_matmul SYSTEM PRIVATE
  $<TARGET_PROPERTY:Eigen3::Eigen,INTERFACE_INCLUDE_DIRECTORIES>)
set_source_files_properties(kernels/matmul/det.cpp kernels/matmul/integer_gemm.cpp
  kernels/matmul/inverse.cpp PROPERTIES COMPILE_DEFINITIONS EIGEN_DONT_PARALLELIZE
  SKIP_PRECOMPILE_HEADERS ON)
# Quantization (granularity.h).
ondine_family(quantize KNOWS matmul)
ondine_family(norm KNOWS elementwise)
# Convolutions (conv_primitive.h).
ondine_family(conv KNOWS matmul quantize norm)
ondine_family(pool KNOWS common)
# Losses (loss.h).
ondine_family(loss KNOWS norm quantize)
# Attention (attention_primitive.h).
ondine_family(attention KNOWS matmul reduce)
ondine_family(recurrent KNOWS quantize elementwise)
# com.microsoft, composed of the operators above (contrib.h).
ondine_family(contrib KNOWS attention conv pool recurrent)

# What knows all of them: the list of operators.
set(_all core graph kernels/operators.h kernels/operators.inc kernels/catalogue.h)
ondine_module(kernels SOURCES ${PROJECT_SOURCE_DIR}/kernels/catalogue.cpp KNOWS ${_all})

# Files of element-wise loops. Neither errno nor the flags of floating point exceptions are read, so
# the loops may be vectorised.
foreach(_file elementwise/algebra elementwise/arithmetic elementwise/clip elementwise/compare
    random/dropout elementwise/elu elementwise/gelu elementwise/hyperbolic elementwise/prelu
    elementwise/relu elementwise/rounding elementwise/sigmoid elementwise/softplus
    elementwise/where)
  set_source_files_properties(kernels/${_file}.cpp PROPERTIES
    COMPILE_OPTIONS "-fno-math-errno;-fno-trapping-math" SKIP_PRECOMPILE_HEADERS ON)
endforeach()
