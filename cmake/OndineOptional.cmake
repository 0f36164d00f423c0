# Optional libraries of some operators and of data. What needs a missing library fails with an error
# that names the library.
set(ONDINE_OPTIONAL_LIBRARIES)

# ondine_optional(NAME source header library...): compiles `source`, which includes `header`, with
# ONDINE_<NAME> when the library is found. The first library implements the header; static builds
# also link the others, which its archive needs.
function(ondine_optional name source header library)
  option(ONDINE_WITH_${name} "Use ${name} if it is installed" ON)
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${source})
    message(FATAL_ERROR "ondine_optional(${name}): there is no ${source}")
  endif()
  if(NOT ONDINE_WITH_${name})
    return()
  endif()
  find_path(ONDINE_${name}_INCLUDE ${header} PATH_SUFFIXES openjpeg-2.5 openjpeg-2.4)
  find_library(ONDINE_${name}_LIBRARY ${library})
  mark_as_advanced(ONDINE_${name}_INCLUDE ONDINE_${name}_LIBRARY)
  if(NOT ONDINE_${name}_INCLUDE OR NOT ONDINE_${name}_LIBRARY)
    message(STATUS "ondine: without ${name}")
    return()
  endif()
  set_source_files_properties(${PROJECT_SOURCE_DIR}/${source} PROPERTIES
    COMPILE_DEFINITIONS ONDINE_${name} INCLUDE_DIRECTORIES ${ONDINE_${name}_INCLUDE})
  set(_libraries ${library})
  if(ONDINE_STATIC)
    set(_libraries ${ONDINE_${name}_LIBRARY})
    foreach(_needed IN LISTS ARGN)
      find_library(ONDINE_NEEDED_${_needed} ${_needed} REQUIRED)
      mark_as_advanced(ONDINE_NEEDED_${_needed})
      list(APPEND _libraries ${ONDINE_NEEDED_${_needed}})
    endforeach()
  endif()
  set(ONDINE_OPTIONAL_LIBRARIES ${ONDINE_OPTIONAL_LIBRARIES} ${_libraries} PARENT_SCOPE)
endfunction()

ondine_optional(RE2 kernels/text/regex.cpp re2/re2.h re2)
ondine_optional(JPEG kernels/image/codecs/jpeg.cpp jpeglib.h jpeg)
ondine_optional(PNG kernels/image/codecs/png.cpp png.h png z)
ondine_optional(WEBP kernels/image/codecs/webp.cpp webp/decode.h webp)
ondine_optional(TIFF kernels/image/codecs/tiff.cpp tiffio.h tiff webp Lerc jbig zstd lzma deflate jpeg z)
ondine_optional(OPENJPEG kernels/image/codecs/jpeg2000.cpp openjpeg.h openjp2)
ondine_optional(SNDFILE trainer/data/audio/sound_file.cpp sndfile.h sndfile mp3lame FLAC vorbisenc vorbis ogg opus mpg123)
ondine_optional(SAMPLERATE trainer/data/audio/resample.cpp samplerate.h samplerate)

# Nodes of federations (docs/federated.md) need the headers of libcurl and of OpenSSL's libcrypto; the
# libraries are loaded when a node begins. Static builds, which load nothing, go without.
option(ONDINE_WITH_FLOWER "Take part in federations if libcurl and OpenSSL are installed" ON)
if(ONDINE_WITH_FLOWER AND NOT ONDINE_STATIC)
  find_path(ONDINE_CURL_INCLUDE curl/curl.h)
  find_path(ONDINE_OPENSSL_INCLUDE openssl/evp.h)
  mark_as_advanced(ONDINE_CURL_INCLUDE ONDINE_OPENSSL_INCLUDE)
  if(ONDINE_CURL_INCLUDE AND ONDINE_OPENSSL_INCLUDE)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/trainer/federated/http_transport.cpp
      ${PROJECT_SOURCE_DIR}/trainer/federated/node_key.cpp PROPERTIES
      COMPILE_DEFINITIONS ONDINE_FLOWER
      INCLUDE_DIRECTORIES "${ONDINE_CURL_INCLUDE};${ONDINE_OPENSSL_INCLUDE}")
    list(APPEND ONDINE_OPTIONAL_LIBRARIES ${CMAKE_DL_LIBS})
    set(ONDINE_HAS_FLOWER ON)
  else()
    message(STATUS "ondine: without FLOWER")
  endif()
endif()

# A tokenizer.json needs both.
option(ONDINE_WITH_TOKENIZERS "Read tokenizer.json by PCRE2 and utf8proc if they are installed" ON)
if(ONDINE_WITH_TOKENIZERS)
  ondine_optional(PCRE2 trainer/text/tokenizer/regex.cpp pcre2.h pcre2-8)
  ondine_optional(UTF8PROC trainer/text/tokenizer/unicode.cpp utf8proc.h utf8proc)
  if(ONDINE_WITH_PCRE2 AND ONDINE_PCRE2_LIBRARY AND ONDINE_WITH_UTF8PROC AND ONDINE_UTF8PROC_LIBRARY)
    set(ONDINE_HAS_TOKENIZERS ON)
  endif()
endif()
