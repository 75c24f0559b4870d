"""Faults of the installed DSL itself: wheels of two versions, no driver's library, damaged objects, its compiler's end."""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, TRACE, issue, known

DSL = "DSL 4.8.1"
_ENDS = r"(?= -->| suggestion:| Traceback| \S+\.py:[0-9]+| File \"|$)"

ENTRIES = (
    known(
        "dsl.stale-libs",
        r"No such file or directory: '(?P<path>[^'\n]{0,300}libcute_dsl_runtime\.so)'|CUTE_DSL_LIBS=(?P<set>\S*libcute_dsl_runtime\.so)\S*(?=.{0,1500}?No such file)",
        "CUTE_DSL_LIBS names a library that is not on this machine: {path}{set}",
        "The variable came from another environment or machine. DSL 4.7.0 writes it itself when it is imported, and a job that inherits the environment (sbatch --export=ALL) carries the path along (NVIDIA/cutlass#3462). One entry that is missing ends every compile.",
        "unset CUTE_DSL_LIBS, and start again: the DSL then finds the library of its own package. Where a launcher imports the DSL, take the variable out of the environment that it hands on, or install another release than 4.7.0",
        (
            "FileNotFoundError: [Errno 2] No such file or directory: '/nonexistent/libcute_dsl_runtime.so'",
            issue(3462),
        ),
        level=ELSEWHERE,
        instead_of=("elsewhere.file-system", "dsl.runtime-library"),
    ),
    known(
        "dsl.fp8-mma-died",
        r"(?:MmaFP8Op|MmaAtomSM89Type)\b.{0,1500}?(?i:seg(?:mentation )?fault|core dumped)|(?i:seg(?:mentation )?fault|core dumped).{0,1500}?\b(?:MmaFP8Op|MmaAtomSM89Type)\b",
        "the compiler dies on cute.nvgpu.warp.MmaFP8Op",
        "The operation makes the atom of Ada (sm_89). DSL 4.4 and 4.5 crash on it when they compile for sm_120 and sm_121, in make_fragment or in gemm (NVIDIA/cutlass#3044, #3281). No layout is at fault. DSL 4.8.1 makes its fragments for sm_120a.",
        "Install the newest nvidia-cutlass-dsl; where it stays, take MmaMXF8Op (block-scaled, with scale factors of 1) on sm_120 and sm_121, and report it to NVIDIA/cutlass",
        ("`MmaFP8Op` segfaults during `cute.compile` on SM120", issue(3281)),
    ),
    known(
        "dsl.object-sections",
        r"section (?P<section>\.?[\w.]+) is present more than once(?: with different permissions)?",
        "a compiled object has the section {section} twice, and LLVM's JIT does not load it",
        "The DSL's compiler can write an object with one {section} of code and one of data that is written (NVIDIA/cutlass#3162). The program that made it runs; what loads the object from a cache or a file does not.",
        "Switch the cache of compiled objects of the library off (QuACK's and FlashAttention's persistent caches) so that each process compiles, or take a newer nvidia-cutlass-dsl and empty the cache; report it to NVIDIA/cutlass",
        (
            "JIT session error: section .text is present more than once with different permissions: R-X vs RW-",
            issue(3162),
        ),
        level=ELSEWHERE,
        instead_of=("dsl.object-file", "dsl.runtime-library"),
    ),
    known(
        "dsl.deprecated",
        r"(?:(?:nvidia_cutlass_dsl|cutlass/)[\w/.-]{0,160}\.py:[0-9]+: |(?=\w{0,40}Warning: cutlass\.))(?P<kind>\w*Warning): (?P<said>[^\n]{5,200}?)(?=\.? +\S+\.py\b|\.? warnings\.warn|\.?$)",
        "the DSL warns, and refuses nothing: {said}",
        "A {kind} names a function that a later version will have under another name. The program runs as before. The frames below it, where the text has some, say who calls: where they are the DSL's own (cutlass/utils, cutlass/cute), its next version mends it.",
        "In code of your own follow the message. Else leave it, or hide it: python -W ignore::{kind}, or warnings.filterwarnings('ignore', module='cutlass')",
        (
            "nvidia_cutlass_dsl/python_packages/cutlass/cute/core.py:5811: DeprecationWarning: Use explicit `struct.scalar.ptr` for pointer instead.",
            issue(3451),
        ),
        level=ELSEWHERE,
        general=True,
        instead_of=("dsl.cut-traceback", "dsl.other-exception"),
    ),
    known(
        "cutlass-python.no-kernel",
        r"No kernel configuration found for supported data type and layout",
        "CUTLASS' Python interface (package nvidia-cutlass) has no kernel for these types and layouts here",
        "It lists its kernels for the GPU's compute capability and for the CUDA of the nvcc that it finds; none of them has these types and layouts. With an nvcc older than 12.0 it has none for sm_90 (12.3 for grouped GEMM), whatever the types (NVIDIA/cutlass#2178). "
        "The DSL (cutlass.cute) is another package.",
        "`nvcc --version` and CUDA_INSTALL_PATH: let them name one CUDA 12.3 or newer; then give types, layouts and cc that the package has (plan = cutlass.op.Gemm(..., cc=80) takes the older kernels)",
        (
            "Exception: No kernel configuration found for supported data type and layout combination",
            issue(2178),
        ),
        level=ELSEWHERE,
    ),
    known(
        "dsl.mixed-versions",
        r"(?:cutlass/[\w/]{1,120}\.py\", line [0-9]{1,6}, in \w{1,80} [^\n\"]{0,120}?\b\w{1,40}\.(?P<function>\w{1,80})\([^\n\"]{0,300}?\bTypeError: (?:\w{1,60}\.){0,4}(?P=function)\(\)"
        r"|\b(?P<binding>mlir_global_[cd]tors)\(\)|\b(?P<other>[a-z]\w{1,60})\(\)(?= missing [0-9] required (?:positional|keyword-only) arguments?: '(?:res|result|results_|result_type)'))"
        rf" (?P<said>(?:missing|takes|got) [^\n]{{3,160}}?){_ENDS}",
        "the installed DSL mixes versions: its own call of {function}{binding}{other}() {said}",
        "The call is inside the DSL, so your program is not at fault. The DSL is several wheels (nvidia-cutlass-dsl, and nvidia-cutlass-dsl-libs-base or -libs-cu13). Two of them have different versions, "
        "or files of an earlier version remain in the folder. Where all versions are equal, the release itself has the fault (nvvm.atomicrmw of 4.5.0).",
        "See it: `pip list | grep nvidia-cutlass-dsl` prints one version for every package of that name. Repair it: pip uninstall each of them, remove site-packages/nvidia_cutlass_dsl*, and install one "
        "version anew (for CUDA 13 with the extra [cu13]); where they were equal, take a newer version",
        (
            "mlir_global_dtors() missing 1 required positional argument: 'data'",
            issue(44949, "vllm-project/vllm"),
        ),
        level=ELSEWHERE,
        instead_of=("dsl.call", "dsl.companion-version", "dsl.api-moved", "elsewhere.library-version"),
    ),
    known(
        "dsl.no-driver-library",
        r"libcuda\.so(?:\.1)?: cannot open shared object file",
        "this machine has no NVIDIA driver: libcuda.so.1 is not found",
        "libcuda.so.1 is a part of the driver, not of the CUDA toolkit or of a wheel. Builds of the DSL that link it (some for aarch64) cannot be imported without it; "
        "the x86-64 wheel of 4.8.1 imports and compiles without a driver, and needs it only to launch.",
        "With a GPU: install the driver, or start the container with it (docker run --gpus all). Without a GPU, to compile only: ln -s $CUDA_HOME/lib64/stubs/libcuda.so libcuda.so.1 in a folder that LD_LIBRARY_PATH names. "
        "`layoutcheck banks`, `layoutcheck canonical` and `layoutcheck explain SRC DST --atom ATOM` need neither the DSL nor a driver",
        ("ImportError: libcuda.so.1: cannot open shared object file: No such file or directory", issue(3110)),
        level=ELSEWHERE,
        instead_of=("elsewhere.no-gpu", "elsewhere.import", "elsewhere.file-system"),
    ),
    known(
        "dsl.object-file",
        r"(?:BinaryExecutionEngine: )?Failed to add object file(?:: (?P<said>[^\n]{3,120}?)(?= Traceback| File \"|$))?|The file was not recognized as a valid object file",
        "a compiled object cannot be loaded: {said}",
        "The DSL loads machine code that it or you exported before: a file of its cache, or an object of export_to_c. The file is cut off (a compile that was killed while it wrote, a full disk, two processes that write one file) or was made for another platform.",
        "Delete that file, or the whole cache folder (CUTE_DSL_CACHE_DIR, and the program's own cache of compiled kernels), and compile again; `file NAME.o` says what it holds",
        (
            "BinaryExecutionEngine: Failed to add object file: The file was not recognized as a valid object file",
            "https://github.com/Dao-AILab/flash-attention/pull/2774",
        ),
        level=ELSEWHERE,
        instead_of=("elsewhere.library-version",),
    ),
    known(
        "dsl.native-backtrace",
        r"#[0-9]{1,3} +0x[0-9a-f]{4,16} in [^\n#]{0,400}?/_cutlass_ir[\w.-]{0,60}\.so",
        "the DSL's compiler (_cutlass_ir) ends the process while it compiles",
        "The innermost frames that have a name are in the DSL's native library. It meets a layout or an operation that it does not refuse in words, and ends the process; the backtrace of gdb does not name your line.",
        "python -X faulthandler SCRIPT prints the Python stack at the abort, whose last line of your own is the call. Shrink that call, try a newer DSL, and report it to NVIDIA/cutlass. "
        + TRACE
        + " and names the copies on which the compiler dies",
        (
            "#3 0x00007f8b in __GI_raise (sig=sig@entry=6) at ../sysdeps/posix/raise.c:26\n#4 0x00007f8b in __GI_abort () at ./stdlib/abort.c:79\n"
            "#5 0x00007f8a in ?? () from /x/nvidia_cutlass_dsl/python_packages/cutlass/_mlir/_mlir_libs/_cutlass_ir.cpython-312-x86_64-linux-gnu.so",
            issue(3113),
        ),
    ),
    known(
        "dsl.versions-listed",
        r"(?s)\b(?P<one>nvidia-cutlass-dsl(?:-[a-z0-9-]+)?)(?:\[\w+\])?[ =:|]{1,24}(?P<first>4\.[0-9]+\.[0-9]+)\b(?=.{1,600}?\b(?P<other>nvidia-cutlass-dsl(?:-[a-z0-9-]+)?)(?:\[\w+\])?[ =:|]{1,24}(?!(?P=first)\b)(?P<second>4\.[0-9]+\.[0-9]+)\b)",
        "the DSL's packages are of different versions: {one} {first}, {other} {second}",
        "The DSL is one program in several packages: nvidia-cutlass-dsl, and -libs-base, -libs-core, -libs-cu12 and -libs-cu13 beside it. They write into one folder, so that the last one that was installed replaces files of the others; "
        "its compiler then fails in ways that no program causes. It is a package that pins another version (quack-kernels, flashinfer-python, vllm) that moves one of them.",
        "pip uninstall each of them, remove site-packages/nvidia_cutlass_dsl*, install one version anew (for CUDA 13 with the extra [cu13]), and what pins another with --no-deps",
        (
            "nvidia-cutlass-dsl 4.7.0 nvidia-cutlass-dsl-libs-cu13 4.6.2 quack-kernels 0.6.4",
            issue(4555, "flashinfer-ai/flashinfer"),
        ),
        level=ELSEWHERE,
        instead_of=("packages.conflict", "elsewhere.import"),
    ),
    known(
        "dsl.class-not-known",
        r"(?:Error|Exception|NotImplemented)\W{1,3}(?:[Uu]nsupported|[Uu]nknown|[Uu]nexpected)[^\n]{0,40}?\b(?:op|atom|mma|MMA|copy)(?: kind| type| class)?:? [\"'<(]{0,2}(?:class ')?(?:[\w.]+\.)?(?P<op>[A-Z]\w+Op)\b",
        "a library does not know {op}, a class of the DSL",
        "The library asks for the class of an operation and knows those of the DSL that it was written for. Another version of the DSL makes {op} where that one made another class.",
        "Install the nvidia-cutlass-dsl that the library's requirements name, or a release of the library after that DSL; {project} takes the report",
        (
            "TypeError('Unsupported tcgen05 MMA op kind: MmaF8F6F4Op')",
            issue(2639, "Dao-AILab/flash-attention"),
        ),
        level=ELSEWHERE,
    ),
)
