"""Errors of compilers, linkers and builds that another project answers; one sentence of who."""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, issue, known

ENTRIES = (
    known(
        "elsewhere.submodule",
        r"(?P<path>(?<![\w./-])(?:[\w.-]{1,40}/){0,6}(?:cutlass|composable_kernel|cccl|pybind11|googletest|fmt|spdlog|third_?party/[\w-]+|3rdparty/[\w-]+)) is missing, please"
        r"|(?i:(?P<name>\w+) submodules? (?:is |are )?(?:not (?:found|initiali[sz]ed|checked out)|missing|empty))|(?i:did you (?:forget|run)|forgot|please run|need to run|try running)[^\n]{0,30}git submodule update",
        "a part that the sources hold as a git submodule is not there: {path}{name}",
        "An archive of GitHub (Download ZIP, archive/refs/tags) and a clone without --recursive leave the folders of submodules empty; CUTLASS' headers are such a part of most libraries of kernels.",
        "git submodule update --init --recursive in the clone, or git clone --recursive anew; a downloaded archive cannot be completed: clone it, or install the source distribution (pip install NAME --no-binary NAME) or a wheel",
        (
            "AssertionError: csrc/cutlass is missing, please use source distribution or git clone",
            issue(1790, "Dao-AILab/flash-attention"),
        ),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.mlir-text",
        r"LLVM ERROR: Building op `(?P<op>(?!cute)[\w.]+)` but it isn't|Dialect `(?P<dialect>(?!cute)\w+)' not found for custom op|custom op '(?P<custom>(?!cute)[\w.]+)' is unknown"
        r"|(?:<stdin>|\.mlir):[0-9]+:[0-9]+: error: (?P<said>(?![^\n]{0,200}\bcute)[^\n]{3,100}?)(?= (?:%|func|module|\"|//)|$)",
        "a tool that reads MLIR refuses its input: {said} {op}{dialect}{custom}",
        "The text that it reads is of another version of the dialect, or the dialect is not loaded. CuTe DSL builds its operations itself and reads none from text.",
        "The project whose command prints it answers (mlir-opt: llvm/llvm-project; IREE: iree-org/iree)",
        ("<stdin>:12:58: error: expected operation name in quotes", issue(58, "UIUC-ChenLab/scalehls")),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "elsewhere.missing-header",
        r"(?:cannot open source file|Cannot open include file:) [\"'](?P<header>[^\"'\n]{2,120})[\"']|catastrophic error: cannot open source file(?! ?[\"'])|fatal error: (?P<gnu>[\w./+-]{2,120}): No such file|error: '(?P<clang>[\w./+-]{2,120})' file not found",
        "the compiler does not find the header {header}{gnu}{clang}",
        "None of the folders that it searches holds the file. nvrtc searches none by itself, not even CUDA's own; a package that brings some headers of CUDA "
        "lacks others; headers of a submodule are missing until it is checked out.",
        "Give the folder with -I: CUDA's headers are in $CUDA_HOME/include, those that begin with cuda/std, cub and thrust there or in its folder cccl (CUDA 13); "
        "ask the project that is built for the others",
        ('integer_subbyte.h(39): catastrophic error: cannot open source file "cuda/std/cstdint"', issue(529)),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.native-abort",
        r"Fatal Python error: (?P<said>[\w ]{3,40})|(?P<worker>worker '\w+' crashed) while running|node down: Not properly terminated",
        "native code ends the Python process: {said}{worker}",
        "A compiled library aborts or writes to memory that is not its own; the frames that Python prints below say from which call.",
        "Find the library of the innermost frame, and run with faulthandler (python -X faulthandler) where there is none; its project answers",
        ("CUDA malloc. Fatal Python error: Aborted", issue(4833, "numba/numba")),
        level=ELSEWHERE,
        general=True,
        instead_of=("dsl.compiler-died",),
    ),
    known(
        "elsewhere.native-message",
        r"terminate called after throwing an instance of '(?P<kind>[\w:]{2,120})' what\(\): +(?:\[[\w-]+\]){0,2} ?(?:Assertion failed: )?(?P<said>(?!std::exception\b|CUDA|cuda|cutlass|std::get)[^\n]{8,300}?)(?= Aborted| \[| \(/|$)",
        "a C++ library refuses a call, and the program does not catch it: {said}",
        "{cause}",
        "{help}. Report it to {project}",
        (
            "terminate called after throwing an instance of 'std::invalid_argument' what(): the head dimension 224 is not supported Aborted",
            "C++",
        ),
        level=ELSEWHERE,
        general=True,
        instead_of=("dsl.compiler-died", "elsewhere.native-exception"),
        fill="condition",
    ),
    known(
        "elsewhere.native-exception",
        r"terminate called after throwing an instance of '(?P<kind>[\w:]{2,120})'(?: what\(\): (?P<said>[^\n]{2,160}?)(?= Aborted|$))?",
        "a C++ exception that is not caught ends the program: {kind} {said}",
        "Native code raises it, most often for a call of CUDA that returns an error; cutlass::cuda_exception keeps the error's number and does not print it.",
        "Run under `cuda-gdb` and `catch throw`, or compute-sanitizer, which names the call and its error; CUDA_LAUNCH_BLOCKING=1 shows which launch it belongs to. The "
        "library of the exception's name answers",
        (
            "terminate called after throwing an instance of 'cutlass::cuda_exception' what(): std::exception Aborted (core dumped)",
            issue(1660),
        ),
        level=ELSEWHERE,
        general=True,
        instead_of=("dsl.compiler-died",),
    ),
    known(
        "elsewhere.exit-code",
        r"(?i)(?:(?:return|exit|exited with|error) (?:code|status)|exitcode)[: =]{1,3}(?P<code>-(?:6|9|11)|134|137|139)\b",
        "a program ended by a signal (code {code})",
        "-6 and 134 are an abort (an assertion of native code, or the compiler of the DSL), -9 and 137 a kill, most often for want of memory, -11 and 139 a segmentation fault.",
        "Run that program alone, as its own command: what it prints before it ends names the cause. For the DSL `layoutcheck trace --no-launch SCRIPT` names the copies on which its compiler dies",
        ("Launch GPU workload exits abnormally with return code: -6", issue(3425)),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "elsewhere.standard-library",
        r"(?:(?P<path>/[^\s:'`]{1,200}lib(?:stdc\+\+|c|m|gcc_s)\.so[.0-9]*): )?version [`'](?P<wanted>(?:GLIBCXX|GLIBC|CXXABI|GCC)_[\w.]+)' not found",
        "the C or C++ library that is loaded is older than the compiler of a file: {wanted}",
        "GLIBCXX_ and CXXABI_ are versions of libstdc++ (3.4.30 is GCC 12's, 3.4.32 GCC 13's), GLIBC_ of the system's C library. The loader took {path}, most often conda's copy beside that Python, or an older system than the file was built on. Neither torch nor CUDA is concerned.",
        "For libstdc++: conda install -c conda-forge libstdcxx-ng, or LD_PRELOAD the system's (/usr/lib/x86_64-linux-gnu/libstdc++.so.6), or build anew with an older g++ (CC, CXX, -ccbin); for GLIBC a newer system or container, or a build made on this one",
        (
            "ImportError: /opt/conda/lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by /x/ext.so)",
            "glibc's loader",
        ),
        level=ELSEWHERE,
        instead_of=("elsewhere.undefined-symbol",),
    ),
    known(
        "elsewhere.no-architecture",
        r"(?:[Uu]nsupported|[Uu]nknown|[Ii]nvalid|not defined)[^\n]{0,60}'?(?:sm|compute)_(?P<number>[2-8][0-9])(?P<suffix>[af])\b"
        r"|'(?:sm|compute)_(?P<other>[2-8][0-9])(?P<form>[af])' is not",
        "there is no architecture sm_{number}{other}{suffix}{form}",
        "The suffixes a and f begin with sm_90 and sm_100: older architectures have one form (NVIDIA, nvcc, GPU architectures).",
        "Name it without the suffix: sm_{number}{other}",
        ("Unsupported gpu architecture 'sm_89a'", "https://github.com/cloudrift-ai/emmy/pull/256"),
        level=ELSEWHERE,
        instead_of=("ptxas.version", "dsl.arch-unknown"),
    ),
    known(
        "elsewhere.no-host-compiler",
        r"cannot execute [`']?(?P<part>cc1plus|as|collect2|cl)\b|(?P<name>g\+\+|c\+\+|gcc|cl\.exe|cc1plus)['\"]?: (?:command )?not found|Cannot find compiler '(?P<windows>cl\.exe)' in PATH|No CMAKE_(?:C|CXX)_COMPILER could be found",
        "the host's C++ compiler is missing or incomplete: {part}{name}{windows}",
        "nvcc compiles the host's part of each file with g++ (cl.exe on Windows). gcc alone, without its C++ part cc1plus, is not enough. What nvcc, ninja and Python say below only follows from it.",
        "Install it (apt install g++, or build-essential; Visual Studio's C++ tools, in their own prompt), of a version that the CUDA toolkit supports, or name one by -ccbin and CUDAHOSTCXX",
        ("gcc: fatal error: cannot execute 'cc1plus': execvp: No such file or directory", "gcc"),
        level=ELSEWHERE,
        instead_of=("elsewhere.host-compiler",),
    ),
    known(
        "elsewhere.host-compiler",
        r"unsupported (?P<host>Microsoft Visual Studio|GNU|[Cc]lang|Intel|ICC|PGI) (?:C\+\+ )?(?:compiler )?version|-- unsupported (?P<gnu>GNU) version!?(?: (?P<newest>gcc versions later than [0-9.]+[0-9]|gcc versions later than [0-9]+))?|(?P<stl>error STL1002: Unexpected compiler version, expected CUDA (?P<cuda>[0-9.]+[0-9]))|host_config\.h[^\n]{0,60}#error(?! -- unsupported)",
        "nvcc does not take this host compiler: {host}{gnu} {stl} {newest}",
        "Each CUDA release supports host compilers up to a version (NVIDIA, CUDA installation guides), and a newer C++ library asks for a newer CUDA in turn ({cuda}).",
        "Give nvcc an older one (-ccbin, CUDAHOSTCXX; MSVC toolset 14.3x of VS 2022, g++ of the table), or take a newer CUDA. -allow-unsupported-compiler and _ALLOW_COMPILER_AND_STL_VERSION_MISMATCH skip the test and may fail later",
        (
            "fatal error C1189: #error: -- unsupported Microsoft Visual Studio version! Only the versions between 2017 and 2022 (inclusive) are supported!",
            "nvcc",
        ),
        level=ELSEWHERE,
        instead_of=("cpp.msvc",),
    ),
    known(
        "elsewhere.wheel",
        r"No matching distribution found for (?P<package>nvidia-cutlass-dsl[\w-]*)(?:\[[\w,]+\])?(?P<version>[=<>~!]=?[\w.]+)?|not supported by (?P<other>nvidia-cutlass-dsl)",
        "pip finds no wheel of {package}{other}{version} for this system",
        "NVIDIA publishes the DSL's wheels for Linux (x86-64 and aarch64) and certain versions of Python; Windows and macOS have none, and a version may have been withdrawn.",
        "Use Linux, on Windows WSL2, with a Python that the package's page names; `pip index versions nvidia-cutlass-dsl` lists what this system can have",
        ("ERROR: No matching distribution found for nvidia-cutlass-dsl-libs-base==4.5.3", "pip"),
        level=ELSEWHERE,
        instead_of=("elsewhere.import",),
    ),
    known(
        "elsewhere.fork",
        r"Cannot re-initialize CUDA in forked subprocess|BrokenProcessPool|process in the process pool was terminated abruptly",
        "a child process uses CUDA that its parent began, or died",
        "CUDA does not survive a fork: a process that was forked after the first use of the GPU cannot use it. A pool's process that ends by itself was killed: a crash of the compiler, or no memory left.",
        "Start processes with spawn (multiprocessing.set_start_method('spawn')); run the work of the child alone to see what ends it",
        (
            "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method",
            "PyTorch",
        ),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.long-path",
        r"\[Errno 2\] No such file or directory: '(?P<path>[A-Z]:\\[^'\n]{225,})'|(?:filename or extension is too long|path (?:is )?too long|WinError 206)",
        "a path is longer than the 260 characters that Windows takes",
        "Sources of kernels lie in deep folders, and pip unpacks them below a long temporary one.",
        "Switch long paths on (LongPathsEnabled = 1 in the registry, git config core.longpaths true), set TEMP to a short folder (C:\\t), or install a wheel that is built for Windows",
        ("OSError: [WinError 206] The filename or extension is too long", "Python"),
        level=ELSEWHERE,
        instead_of=("elsewhere.file-system",),
    ),
    known(
        "elsewhere.file-system",
        r"\[Errno (?:28|13|2|24|122)\] (?P<said>No space left on device|Permission denied|No such file or directory|Too many open files|Disk quota exceeded)(?:: '(?P<path>[^'\n]{1,200})')?",
        "the system refuses a file: {said} {path}",
        "A cache of compiled kernels, a temporary folder or a tool is not there or cannot be written; another user may own a shared /tmp folder.",
        "Point caches to a folder of your own with room (CUTE_DSL_CACHE_DIR, TMPDIR, XDG_CACHE_HOME), and put the CUDA toolkit's bin on PATH where a tool (ptxas, nvcc, nvdisasm) is missing",
        ("OSError: [Errno 28] No space left on device", "Python"),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.toolkit-too-old",
        r"(?P<said>Value '(?P<arch>(?:sm|compute)_\w+)' is not defined for option '[\w-]+'|[Uu]nsupported gpu architecture '(?P<named>(?:sm|compute)_\w+)'|invalid value for --gpu-architecture(?: \(-arch\))?|nvrtc: error: invalid value for --gpu-arch\w*|NVRTC_ERROR_INVALID_OPTION)",
        "the CUDA compiler does not know the architecture {arch}{named}",
        "nvcc or NVRTC is older than the GPU: sm_89 and sm_90 begin with CUDA 11.8, sm_90a with 12.0, sm_100a and sm_120a with 12.8, sm_103a, sm_121a and the suffix f (sm_100f) with 12.9; CUDA 13 has dropped what is older than sm_75. "
        "PyTorch compiles some kernels at run time with the NVRTC that it brings.",
        "`nvcc --version` of the compiler that the build calls (CUDA_HOME, PATH); Triton and Inductor bring a ptxas of their own, TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas names a newer one. Take a toolkit, or a PyTorch of a CUDA, that knows this GPU, or name a target that it knows and the GPU runs (sm_100a for sm_100f with 12.8, sm_90 for sm_90a's code without wgmma)",
        ("nvcc fatal : Value 'sm_90a' is not defined for option 'gpu-architecture'", issue(1815)),
        level=ELSEWHERE,
        instead_of=("ptxas.version", "dsl.arch-unknown", "cpp.toolkit-too-old"),
    ),
    known(
        "elsewhere.assembler",
        r"Assembler messages|\.s:[0-9]+: Error: |asm operand type size\([0-9]\) does not match",
        "the assembler of the host refuses the code",
        "The host's compiler and the code are not made for each other: a compiler for 32 bits where CUDA takes 64, or an assembler older than the "
        "instructions of the processor.",
        "Compile with a 64-bit host compiler that the toolkit supports (on Windows the x64 Native Tools prompt); nvcc's installation guide lists them",
        (
            "cuda_fp16.hpp(2044): error: asm operand type size(8) does not match type/size implied by constraint 'r'",
            issue(66, "turboderp-org/exui"),
        ),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.compile",
        r"(?:\.(?:cuh?|cc?|cpp|cxx|hpp|h|inl)|include[/\\](?:c\+\+/[0-9.]+/)?\w+)(?:\([0-9]+(?:,[0-9]+)?\)|:[0-9]+:[0-9]+) ?: (?:fatal )?error(?: C[0-9]+)?: (?:static.assert\w* failed(?: due to requirement '[^\n]{1,600}?')?: (?P<message>[^\n]{3,160}?)(?= [0-9]+ \|| \S+:[0-9]+:| note:|$)|static.assert\w* failed[^\"']{0,80}(?P<quote>[\"'])(?P<said>(?:(?!(?P=quote))[^\n]){1,160})(?P=quote)"
        r"|(?P<bare>static.assert\w* failed)(?=$| \S+[(:][0-9]| detected)"
        r"|(?P<other>(?!static.assert)(?:(?! [A-Z]:\\)[^\n]){3,120}))|(?:^|\W)static.assert\w* failed(?: with|:) \"(?P<alone>[^\"\n]{3,160})\"|\berror(?: C[0-9]+)?: identifier \"(?P<identifier>\w+)\" is undefined"
        r"|\berror(?: C[0-9]+)?: (?P<words>[^\n]{0,120}?(?:no instance of|has no member|cannot be narrowed|no member named|undeclared identifier|no matching (?:member )?function|has incomplete type|no viable|expected [^\n]{1,20} before"
        r"|is not a member of|was not declared in this scope|cannot convert|no type named|not declared|__(?:device|shared|global|host|constant)__|class template|namespace|initializer|constexpr|declaration|has already been|expression must|no operator|overloaded function"
        r"|type name|incomplete type|bound function|size of an array|separate compilation mode|template argument|dereference|lvalue|static_cast|expected an? ?\W|not allowed here)[^\n]{0,80})",
        "a C++ file does not compile: {said}{message}{alone}{bare}{other}{identifier}{words}",
        "{cause} Neither the file nor the message is CuTe's.",
        "{help}. Report it to {project}; its build page names the compilers and architectures that it supports",
        (
            'ggml-cuda/fattn-new-mma.cu(859): error: static assertion failed with "bad nbatch_K2, nbatch_V2 for MLA"',
            issue(412, "ikawrakow/ik_llama.cpp"),
        ),
        level=ELSEWHERE,
        general=True,
        instead_of=("nvrtc.compilation",),
        fill="file",
    ),
    known(
        "elsewhere.hash-error",
        r"(?:#error|error ?: #error(?: directive:)?) ?:? ?\"?(?P<said>[^\"\n]{5,200}?)\"?(?=$| \^| [0-9]+ \|| \S+:[0-9]+:)",
        "a header stops the compile with words of its own: {said}",
        "#error is a condition of the header's author: a macro, a version, a target or a compiler that it asks for is not there.",
        "Do what the words ask (define the macro with -D, take that compiler or target); where a build script writes the command, report it to {project}",
        (
            '#error "Please define either MIRAGE_BACKEND_USE_CUDA or MIRAGE_BACKEND_USE_NKI."',
            "https://github.com/mirage-project/mirage/pull/565",
        ),
        level=ELSEWHERE,
        general=True,
        instead_of=("elsewhere.build", "elsewhere.compile"),
    ),
    known(
        "elsewhere.nvcc-temporary",
        r"(?:fatal|error) ?: (?:Could not open input file|[Cc]an(?:'t|not) open(?: input)? file|cannot open output file|error in backend: Cannot)[^\n]{0,20}? (?P<file>\S*tmpxft\S+)|(?P<other>tmpxft_\S+): No such file",
        "a temporary file of nvcc is not there: {file}{other}",
        "nvcc hands files in /tmp (TMPDIR) from one of its programs to the next. The step before ended without writing it (killed for want of memory, a full disk), or the folder is cleaned while nvcc runs; nvcc --threads runs several at one time.",
        "df -h /tmp; export TMPDIR to a folder with room, build with fewer jobs (MAX_JOBS=1, NVCC_THREADS=1), and look above for the first error of the same file",
        (
            "fatal : Could not open input file /tmp/tmpxft_00006c35_00000000-7_qk_int_sv_f16_cuda_sm80.cpp1.ii",
            issue(300, "thu-ml/SageAttention"),
        ),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.nvcc-options",
        r"nvcc fatal ?: (?P<said>[^\n]{3,160}?)(?= ninja:| Traceback| \[[0-9]+/| error:|$)",
        "nvcc refuses its command line: {said}",
        "No file was compiled yet. An option is of another version of nvcc, an option of the host's compiler stands without -Xcompiler, or a path with blanks or an unknown word counts as an input file.",
        "Compare `nvcc --version` of the compiler in the command with what the project asks for, and look in the command for the word that the message means; report it to {project} where its script wrote the command",
        (
            "nvcc fatal : A single input file is required for a non-link phase when an outputfile is specified",
            issue(6, "SystemPanic/flashinfer-windows"),
        ),
        level=ELSEWHERE,
        general=True,
        instead_of=("elsewhere.build",),
    ),
    known(
        "elsewhere.build",
        r"(?P<said>errors? detected in the compilation of|nvlink (?:error|fatal)|FAILED: (?:\[code=[0-9]+\] )?\S{1,200}|[Nn]inja build failed|compilation terminated|N(?:VCC|VRTC|vrtc) compilation failed|command '[^']*(?:nvcc|ninja|cmake|gcc|g\+\+)[^']*'"
        r"|make(?:\[[0-9]+\])?: \*\*\* [^\n]{0,120}|Error compiling objects for extension|Failed building wheel(?: for \S+)?|Failed to build (?!the )[\w.-]+(?= |$)|did not run successfully|failed to run custom build command|Could not build wheels|build stopped|NVRTC_ERROR|[Uu]ndefined reference to|fatal error: [\w./]+: No such file|ninja: build stopped|subprocess-exited-with-error"
        r"|Unsupported gpu architecture|NVRTC Error|CalledProcessError: Command '\[?'?(?:ninja|nvcc|cmake|make|gcc|g\+\+|c\+\+)[^\n]{0,120})",
        "a build fails, and the text has only who noticed it: {said}",
        "ninja, pip, setuptools and make report that a command failed. What the compiler says of it stands above, often thousands of lines: at the first line with 'error' behind a file's name, or at 'Killed' where memory ran out (CuTe's templates take several GB in each job). "
        "A toolkit older than the target is the most frequent cause: sm_100a is known from CUDA 12.8 on, sm_103a and sm_121a from 12.9.",
        "Build again with MAX_JOBS=1 (one job, so that the first error is the last output) and pip install -v --no-build-isolation, keep the log, and paste what grep -n -m1 -A20 -E 'error|Killed' LOG finds. Report a fault in its own code to {project}",
        ("ninja: build stopped: subcommand failed.", "ninja"),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "elsewhere.compiler-memory",
        r"(?:catastrophic error|fatal error(?: C1060| C1002)?|internal compiler error|\bcc1plus|\bcudafe\+\+|\bcicc|\bptxas)[^\n]{0,80}?(?P<said>out of (?:heap space|memory)|virtual memory exhausted|cannot allocate memory|terminated due to signal 9|Killed\b(?! kernel))",
        "the compiler has no memory left on the host: {said}",
        "The line of source that it names is where it stood, and no fault of it: templates of CuTe take several GB in each process, and a build runs many at one time. It is the host's memory, not the GPU's.",
        "Build with fewer processes (MAX_JOBS=1, ninja -j1, --parallel 1, nvcc --threads 1), with swap or a larger machine, for fewer architectures, and without the kernels that are not needed",
        (
            "cute/layout_composed.hpp(478): catastrophic error : out of memory",
            issue(21676, "microsoft/onnxruntime"),
        ),
        level=ELSEWHERE,
        instead_of=("elsewhere.memory",),
    ),
    known(
        "elsewhere.link-file",
        r"LNK1(?:104|181): cannot open (?:input )?file '(?P<file>[^'\n]{2,160})'|(?:\bld|collect2|lld|gold)\b[^\n]{0,40}: (?:error: )?(?:cannot find|unable to find library) -l(?P<library>\w+)",
        "the linker is told to link a library that it does not find: {file}{library}",
        "No symbol is missing: the file itself is not there. Its own project was not built, or not in this configuration (an error further up, Debug beside Release), or its folder is not searched. Of -lcuda the driver brings only libcuda.so.1.",
        "Look up for the first error of the project that makes the file and build that one alone (CUTLASS: the target cutlass_lib); name its folder with -L or LIBRARY_PATH. For -lcuda: LIBRARY_PATH=$CUDA_HOME/lib64/stubs",
        ("LINK : fatal error LNK1104: cannot open file '..\\library\\Debug\\cutlass.debug.lib'", issue(934)),
        level=ELSEWHERE,
        instead_of=("elsewhere.link",),
    ),
)
