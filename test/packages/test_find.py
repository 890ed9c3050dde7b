# SPDX-License-Identifier: MIT
"""pkg-config, CMake and Meson find the installed library, for programs in C11,
C++20 and Rust."""

import pytest
from conftest import need

# {language: (compiler, its flags, source)}
COMPILERS = {"c": ("cc", ["-std=c11"], "main.c"),
             "cpp": ("c++", ["-std=c++20"], "main.cpp")}
PACKAGES = [("weft", True), ("weft-api", False)]


@pytest.mark.parametrize("language", COMPILERS)
@pytest.mark.parametrize("package, on_weft", PACKAGES)
def test_pkg_config(project, language, package, on_weft):
    compiler, flags, source = COMPILERS[language]
    need(compiler, "pkg-config")
    found = project.run("pkg-config", "--cflags", "--libs", package).split()
    project.run(compiler, *flags, source, "-o", "program", *found)
    project.runs_on_weft("program", on_weft)


@pytest.mark.parametrize("package, on_weft", PACKAGES)
def test_pkg_config_for_rust(project, package, on_weft):
    need("rustc", "pkg-config")
    found = project.run("pkg-config", "--libs", package).split()
    words = [word for flag in found for word in ("-C", f"link-arg={flag}")]
    if not on_weft:
        words += ["--cfg", "api"]
    project.run("rustc", "--edition=2021", "main.rs", "-o", "program", *words)
    project.runs_on_weft("program", on_weft)


CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(example LANGUAGES C CXX)
find_package(weft 0.2 REQUIRED)
add_executable(c main.c)
set_property(TARGET c PROPERTY C_STANDARD 11)
target_link_libraries(c weft::weft)
add_executable(c-api main.c)
set_property(TARGET c-api PROPERTY C_STANDARD 11)
target_link_libraries(c-api weft::api)
add_executable(cpp main.cpp)
set_property(TARGET cpp PROPERTY CXX_STANDARD 20)
target_link_libraries(cpp weft::weft)
find_program(RUSTC rustc)
if(RUSTC)
  add_custom_target(rust ALL COMMAND ${RUSTC} --edition=2021
    ${CMAKE_SOURCE_DIR}/main.rs -o rust
    -L $<TARGET_FILE_DIR:weft::weft>)
endif()
"""


def test_cmake(project):
    need("cmake", "cc", "c++")
    (project.path / "CMakeLists.txt").write_text(CMAKE)
    project.run("cmake", "-S", ".", "-B", "out")
    project.run("cmake", "--build", "out")
    project.runs_on_weft("out/c", True)
    project.runs_on_weft("out/c-api", False)
    project.runs_on_weft("out/cpp", True)


def test_cmake_for_rust(project):
    need("cmake", "cc", "c++", "rustc")
    (project.path / "CMakeLists.txt").write_text(CMAKE)
    project.run("cmake", "-S", ".", "-B", "out")
    project.run("cmake", "--build", "out", "--target", "rust")
    project.runs_on_weft("out/rust", True)


@pytest.mark.parametrize("wanted, is_taken", [
    ("0.2", True), ("0.2.0 EXACT", True), ("0.1", False), ("0.3", False),
    ("1.0", False)])
def test_cmake_versions(project, wanted, is_taken):
    need("cmake", "cc")
    (project.path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(example C)\n"
        f"find_package(weft {wanted})\nmessage(STATUS found=${{weft_FOUND}})\n")
    assert f"found={int(is_taken)}" in project.run("cmake", "-S", ".", "-B",
                                                   "out")


MESON = """
project('example', {languages}, default_options: [{defaults}])
weft = dependency('weft', version: '>=0.2')
if '{source}'.endswith('.rs')
  # Older versions of Meson pass rustc the C compiler's flags, and do not link a
  # program in Rust with a static library that is installed.
  weft = weft.partial_dependency(link_args: true)
else
  executable('api', '{source}', dependencies: dependency('weft-api'))
endif
executable('program', '{source}', dependencies: weft)
"""


@pytest.mark.parametrize("source, languages, defaults, tool", [
    ("main.c", "'c'", "'c_std=c11'", "cc"),
    ("main.cpp", "'c', 'cpp'", "'cpp_std=c++20'", "c++"),
    ("main.rs", "'c', 'rust'", "'rust_std=2021'", "rustc")],
    ids=["c", "cpp", "rust"])
def test_meson(project, source, languages, defaults, tool):
    need("meson", "ninja", "pkg-config", tool)
    text = MESON.format(source=source, languages=languages, defaults=defaults)
    (project.path / "meson.build").write_text(text)
    project.run("meson", "setup", "out")
    project.run("ninja", "-C", "out")
    project.runs_on_weft("out/program", True)
    if tool != "rustc":
        project.runs_on_weft("out/api", False)
