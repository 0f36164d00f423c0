# Toolchain file for Debian's cross compilers; builds static programs that QEMU can run.
#   -DONDINE_MACHINE=aarch64|s390x -DONDINE_ROOT=DIR    DIR: made by scripts/foreign_packages.sh
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${ONDINE_MACHINE})
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ONDINE_MACHINE ONDINE_ROOT)
set(CMAKE_C_COMPILER ${ONDINE_MACHINE}-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER ${ONDINE_MACHINE}-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${ONDINE_MACHINE}-linux-gnu)

# Debian's folder for architecture-specific headers, which the compiler searches only in its own
# root.
set(CMAKE_CXX_FLAGS_INIT "-isystem ${ONDINE_ROOT}/usr/include/${ONDINE_MACHINE}-linux-gnu")
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
find_program(ONDINE_QEMU NAMES qemu-${ONDINE_MACHINE} qemu-${ONDINE_MACHINE}-static)
if(ONDINE_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${ONDINE_QEMU})
endif()

set(CMAKE_FIND_ROOT_PATH ${ONDINE_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(Boost_NO_BOOST_CMAKE ON)
