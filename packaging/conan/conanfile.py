"""The package ondine for Conan 2: conan create packaging/conan. docs/packages.md names the profile that
takes the libraries of a system instead of packages."""
import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain
from conan.tools.files import copy, load

REPOSITORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# Folders and files of the repository that a build needs.
SOURCES = ("CMakeLists.txt", "LICENSE", "NOTICE", "autodiff/*", "bench/*", "bindings/c/*", "checkpoints/*", "cmake/*",
           "core/*", "graph/*", "include/*", "kernels/*", "proto/*", "tools/*", "trainer/*")


class Ondine(ConanFile):
    name = "ondine"
    license = "Apache-2.0"
    description = "Trains ONNX models on the device"
    topics = ("onnx", "training", "machine-learning")
    settings = "os", "arch", "compiler", "build_type"
    package_type = "library"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    implements = ["auto_shared_fpic"]

    def set_version(self):
        text = load(self, os.path.join(REPOSITORY, "CMakeLists.txt"))
        self.version = text.split("project(ondine VERSION ")[1].split()[0]

    def export_sources(self):
        for pattern in SOURCES:
            copy(self, pattern, REPOSITORY, self.export_sources_folder)

    def requirements(self):
        self.requires("boost/[>=1.74]")
        self.requires("protobuf/[>=3.21]")
        self.requires("zlib/[>=1.2.11 <2]")
        self.requires("eigen/[>=3.4 <4]")
        self.requires("nlohmann_json/[>=3.11 <4]")
        self.requires("dlpack/[>=0.6]")

    def build_requirements(self):
        self.tool_requires("protobuf/<host_version>")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        self.folders.build = "build"
        self.folders.generators = "build/generators"

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.blocks.remove("arch_flags")  # one architecture needs no flag
        toolchain.cache_variables["ONDINE_TESTS"] = False
        toolchain.cache_variables["ONDINE_WERROR"] = False
        toolchain.cache_variables["ONDINE_TOOLS"] = False
        toolchain.cache_variables["ONDINE_EXAMPLES"] = False
        toolchain.cache_variables["ONDINE_WITH_MPI"] = False
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build(target="ondine")

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "NOTICE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        self.run(f'cmake --install "{self.build_folder}" --component Unspecified --prefix "{self.package_folder}"')

    def package_info(self):
        # The files for CMake of the project itself, which name the libraries that a build found.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "ondine")]
        self.cpp_info.libs = ["ondine"]
        self.cpp_info.system_libs = ["pthread", "dl"]
