"""capball for Conan 2: `conan create contrib/packages/conan` in a clone."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

TREE = os.path.join("..", "..", "..")


class CapballConan(ConanFile):
    name = "capball"
    description = "Maps Euclidean vectors to the unit sphere of one more dimension, where balls are caps"
    license = "Apache-2.0"
    topics = ("nearest-neighbors", "similarity-search", "outlier-detection", "geometry")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "command": [True, False]}
    default_options = {"shared": False, "command": True}

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, TREE, "include", "capball", "status.h"))
        self.version = ".".join(re.findall(r"#define CPB_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))

    def export_sources(self):
        tree = os.path.join(self.recipe_folder, TREE)
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*", "cli/*", "show/*"):
            copy(self, pattern, tree, self.export_sources_folder)

    def configure(self):
        self.settings.rm_safe("compiler.cppstd")
        self.settings.rm_safe("compiler.libcxx")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self, generator="Ninja")
        for name in ("CPB_HDF5", "CPB_PACKED", "CPB_WERROR", "CPB_HNSW"):  # HDF5, zlib and libzstd: of the system, not used here
            toolchain.cache_variables[name] = False
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        for target in ("capball", "capball_static") + (("capball_cli",) if self.options.command else ()):
            cmake.build(target=target)

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.h", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))
        copy(self, "libcapball.so*" if self.options.shared else "libcapball.a", self.build_folder, os.path.join(self.package_folder, "lib"))
        if self.options.command:
            copy(self, "capball", self.build_folder, os.path.join(self.package_folder, "bin"))

    def package_info(self):
        self.cpp_info.libs = ["capball"]
        self.cpp_info.set_property("cmake_target_name", "capball::capball")
        self.cpp_info.set_property("pkg_config_name", "capball")
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["m", "pthread"]
