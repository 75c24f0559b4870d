"""What CMake says before a compiler runs: no compiler, no architecture, no package, another version."""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, Known, issue, known

_LOG = "CMakeFiles/CMakeError.log (from CMake 3.26 on CMakeConfigureLog.yaml) has the command and what it printed"
_FRESH = "Delete the build folder first: CMake keeps what it found in CMakeCache.txt"


def _cmake(name: str, pattern: str, title: str, cause: str, remedy: str, *examples: tuple[str, str],
           general: bool = False) -> Known:  # fmt: skip
    """An entry about configuring, which says more than the lines that only report that a build failed."""
    return known(
        name, pattern, title, cause, remedy, *examples, level=ELSEWHERE, general=general,
        instead_of=("elsewhere.build", "elsewhere.compile") if general else (),
    )  # fmt: skip


ENTRIES = (
    _cmake(
        "cmake.no-cuda-compiler",
        r"Could not find compiler set in environment variable (?P<variable>\w+): (?P<path>\S+?)(?=\.? |\.?$)|No (?:CMAKE_)?CUDA(?:_COMPILER| compiler)? (?:could be )?found|CMAKE_CUDA_COMPILER(?: not set|-NOTFOUND| could be found)"
        r"|Could not find nvcc|CUDA compiler - NOTFOUND|Failed to find nvcc|The CMAKE_CUDA_COMPILER: (?P<named>\S+) is not",
        "CMake finds no CUDA compiler: {variable} {path}{named}",
        "CMake looks for nvcc in CUDACXX, CMAKE_CUDA_COMPILER and PATH. None of them names an nvcc that is there; a path in a variable is taken as it is written, '~' and '$' inside included.",
        "`which nvcc` or `ls /usr/local/cuda*/bin/nvcc` names it: export CUDACXX=/usr/local/cuda/bin/nvcc (or -DCMAKE_CUDA_COMPILER=...). A conda or pip CUDA without the nvcc package has none. On Windows install CUDA after Visual Studio. "
        + _FRESH,
        (
            "CMake Error at CMakeDetermineCUDACompiler.cmake:25 (message): Could not find compiler set in environment variable CUDACXX: /usr/local/cuda/bin/nvcc.",
            issue(1269),
        ),
    ),
    _cmake(
        "cmake.toolset",
        r"No CUDA toolset found",
        "Visual Studio has no CUDA toolset",
        "The generator of Visual Studio compiles CUDA by files that CUDA's installer puts into Visual Studio (MSBuildExtensions). The toolkit is there, and these files are not: Visual Studio, or its Build Tools, came later, or the component was left out.",
        "Install CUDA again with 'Visual Studio Integration', or copy $CUDA_PATH/extras/visual_studio_integration/MSBuildExtensions into MSBuild/Microsoft/VC/v*/BuildCustomizations; or take the generator Ninja (-G Ninja) in Visual Studio's own prompt. " + _FRESH,
        ("CMake Error at CMakeDetermineCompilerId.cmake:563 (message): No CUDA toolset found.", issue(1917, "abetlen/llama-cpp-python")),
    ),
    _cmake(
        "cmake.no-architectures",
        r"CMAKE_CUDA_ARCHITECTURES must be non-empty|CUDA_ARCHITECTURES is empty",
        "CMAKE_CUDA_ARCHITECTURES is set, and empty",
        "Nothing is compiled yet. The project, a preset or a variable of the shell gives an empty list: a detection of the GPU that found none, or a name that is misspelt.",
        "cmake -DCMAKE_CUDA_ARCHITECTURES=native (or 80, 90a) in an empty build folder; grep CMakeCache.txt and the project's CMake files for what sets it",
        ("CMAKE_CUDA_ARCHITECTURES must be non-empty if set.", issue(1779, "colmap/colmap")),
    ),
    _cmake(
        "cmake.architectures",
        r"Failed to (?:find a working|detect a default) CUDA architecture|CMAKE_CUDA_ARCHITECTURES(?: must be (?!non-empty)|: [\w; ,-]{1,80} do not all work| is empty)|CUDA_ARCHITECTURES (?:is empty|set to|property)",
        "CMake cannot compile its CUDA test program for the architectures that are asked for",
        "Before the project's own files CMake compiles a small one for CMAKE_CUDA_ARCHITECTURES. nvcc does not know one of them (48 is none; 90a needs CUDA 12, 100a 12.8, 120a 12.8), or nvcc itself does not run: "
        "its host compiler is too new, or missing.",
        "Give architectures that `nvcc --list-gpu-arch` lists, -DCMAKE_CUDA_ARCHITECTURES=90a (CUTLASS: -DCUTLASS_NVCC_ARCHS=90a), and compile an empty .cu with that nvcc by hand. "
        + _LOG,
        (
            "CMakeDetermineCUDACompiler.cmake:598 (message): Failed to find a working CUDA architecture.",
            issue(112, "eth-sri/eran"),
        ),
    ),
    _cmake(
        "cmake.compiler-broken",
        r"(?:is not able to compile a simple test program|The (?:C|CXX|CUDA) compiler identification is unknown|CMakeCUDACompilerId\.cu\S* failed|Compiling the CUDA compiler identification source file)",
        "the compiler that CMake chose cannot compile a test program",
        "nvcc or the host compiler is found and does not work: a host compiler that this CUDA does not take, a toolkit without its headers or cudart, or nvcc of another platform.",
        "Compile an empty .cu with the same nvcc and -ccbin by hand: it prints why. "
        + _LOG,
        ("The CUDA compiler identification is unknown", issue(373, "mmp/pbrt-v4")),
    ),
    _cmake(
        "cmake.features",
        r"no known features for (?P<language>\w+) compiler|(?P<older>CMake [0-9.]+ or higher is required\.? +You are running version [0-9.]+)|(?P<newer>Compatibility with CMake < [0-9.]+ has been removed)|does not know the compile flags to use to enable it"
        r"|(?P<dialect>CUDA_STANDARD|CUDA[0-9]{2} dialect|CXX_STANDARD)[^\n]{0,80}(?:does not know|not support|is set to invalid)",
        "this CMake is too old or too new for the project or the compiler {language}{older}{newer}",
        "CMake must know the compiler's version and its options for the C++ standard; projects name the oldest CMake that they work with, and CMake 4 has dropped projects of before 3.5.",
        "python -m pip install a CMake of the version that the project names (`cmake --version`); with CMake 4 and an old project -DCMAKE_POLICY_VERSION_MINIMUM=3.5. " + _FRESH,
        ("target_compile_features no known features for CXX compiler", issue(923, "NVlabs/instant-ngp")),
    ),
    _cmake(
        "cmake.package",
        r"Could NOT find (?P<package>\w+)(?: \(missing: (?P<missing>[^)\n]{2,120})\))?|package configuration file provided by [\"'](?P<config>[\w:+-]+)[\"']|By not providing [\"']Find(?P<module>\w+)\.cmake"
        r"|-- (?P<found>cuDNN|cuBLAS|NCCL|cuSPARSELt|NVRTC)(?: library)? not found|(?P<quoted>Torch|Python3?|pybind11|GTest) (?:could )?not (?:be )?found",
        "CMake does not find {package}{config}{module}{found}{quoted} {missing}",
        "The package is not installed, without its headers, or in a folder that CMake does not search.",
        "Install it with its headers, or name its folder: -D{package}{config}{module}{found}{quoted}_ROOT=..., CMAKE_PREFIX_PATH (torch: `python -c 'import torch; print(torch.utils.cmake_prefix_path)'`). CUTLASS builds without cuDNN and cuBLAS: "
        "-DCUTLASS_ENABLE_CUDNN=OFF -DCUTLASS_ENABLE_CUBLAS=OFF; they serve its profiler for comparison",
        ("-- Configuring cuDNN ... -- cuDNN not found. CMake Error at cuDNN.cmake:109 (message)", issue(43081, "microsoft/vcpkg")),
    ),
    _cmake(
        "cmake.other",
        r"CMake Error at (?P<file>[^\s:]{1,300}:[0-9]+) \((?P<command>\w+)\): (?P<said>[^\n]{2,200}?(?= Call Stack| CMake Error| -- |$)|[^\n]{2,160})|CMake Error: (?P<message>[^\n]{2,200}?)(?= CMake Error| -- |$)",
        "CMake stops: {said}{message}",
        "A file of the project or a module of CMake ends the configuration with these words; no kernel is compiled yet.",
        "Look at {file}: what stands before that line says what it tests. " + _LOG + "; report it to the project that is built",
        ("CMake Error at CMakeLists.txt:31 (message): In-source builds are not supported", "CMake"),
        general=True,
    ),
)  # fmt: skip
