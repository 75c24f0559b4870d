"""What pip, uv, conda and their builds say: versions that exclude each other, wheels that do not exist, builds that fail."""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, issue, known

ENTRIES = (
    known(
        "elsewhere.tool-version",
        r"(?P<what>NVCC|nvcc|CUDA|CUDA toolkit|cuDNN|driver|PyTorch|torch|Triton|gcc|GCC|g\+\+|CMake|ninja|Python) (?:version )?(?:should|must|has to|needs? to) be (?:>=|=>|at least|newer than|greater than|higher than) ?v?(?P<version>[0-9][0-9.]*[0-9]|[0-9]+)",
        "{what} is older than {version}, which this library asks for",
        "It asks for the version of the {what} that it finds and runs, which need not be the newest one on the machine: of nvcc the first on PATH or the one below CUDA_HOME.",
        "`{what} --version` or `python -m pip list` shows which is found: install {version} or newer, and set CUDA_HOME and PATH to it; report what stays to {project}",
        (
            'RuntimeError: Assertion error (.../jit/compiler.hpp:187): (major > 12 or (major == 12 and minor >= 3)) and "NVCC version should be >= 12.3"',
            "https://github.com/vllm-project/vllm/pull/49051",
        ),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.flash-attn-cute",
        r"No module named '?(?P<module>flash_attn\.cute[\w.]*)|cannot import name '\w+' from '(?P<of>flash_attn\.cute[\w.]*)|(?P<library>CUTE flash attention library) is not available",
        "the installed FlashAttention has no {module}{of}{library}",
        "flash_attn.cute is FlashAttention 4, a package of its own (flash-attn-4). The wheels of flash-attn 2.x have none of it, or an older state that lacks the module. nvidia-cutlass-dsl is what it needs beside, "
        "and an import of it that fails hides behind 'not available'.",
        "pip install flash-attn-4 (flash-attn-4[cu13] for CUDA 13; --pre where only pre-releases are published), or install the folder flash_attn/cute of Dao-AILab/flash-attention; python -c 'import flash_attn.cute.interface' "
        "prints what is still missing. For PyTorch's flex_attention take another BACKEND until then",
        ("ModuleNotFoundError: No module named 'flash_attn.cute.testing'", issue(1900, "Dao-AILab/flash-attention")),
        level=ELSEWHERE,
        instead_of=("elsewhere.import", "elsewhere.torch-compile", "elsewhere.library-version", "dsl.module-moved"),
    ),
    known(
        "packages.conflict",
        r"No solution found when resolving[^\n]{0,40}|ResolutionImpossible|conflicting dependencies|we can conclude that (?P<said>[^\n]{5,160}?)(?= And | hint|$|\.)|(?P<package>[\w.-]+) (?P<have>[\w.]+) (?:has requirement|requires) (?P<wanted>[\w.-]+(?:\[[\w,]+\])?[<>=!~][^\n,]{1,40}?), (?:but you(?:'ll)? have|which is not installed)"
        r"|LibMambaUnsatisfiableError|UnsatisfiableError|packages have incompatible requirements|dependency resolver does not currently take",
        "two packages ask for versions that exclude each other: {said}{package} {have} {wanted}",
        "The resolver lists who asks for what. Around CuTe it is most often nvidia-cutlass-dsl, which quack-kernels and flashinfer-python pin exactly and flash-attn-4 pins from below, or torch with its CUDA packages.",
        "Read the chain of 'depends on' for the package that has two ranges, and take versions of both libraries of one time; an environment for each of them avoids it. uv: override-dependencies forces a version, and the library may then "
        "break; pip: the warning after an install means that the environment is already mixed",
        (
            "flashinfer-python 0.6.6 requires nvidia-cutlass-dsl>=4.4.2, but you have nvidia-cutlass-dsl 4.3.5 which is incompatible.",
            issue(346, "xlite-dev/ffpa-attn"),
        ),
        level=ELSEWHERE,
        instead_of=("elsewhere.import",),
    ),
    known(
        "packages.isolated",
        r"(?:Getting requirements to build wheel|get_requires_for_build_wheel|build_wheel|prepare_metadata_for_build|metadata-generation-failed|pyproject\.toml|[Bb]uild(?:ing)? (?:the )?(?:wheel|backend)|egg_info|Failed to build)[^\n]{0,4000}?No module named '(?P<module>torch|numpy|packaging|psutil|setuptools|wheel|ninja)'"
        r"|No module named '(?P<other>torch|packaging|psutil|wheel)'[^\n]{0,400}?(?:Getting requirements to build wheel|build_wheel|metadata-generation-failed|egg_info|subprocess-exited-with-error)",
        "the package's build does not see {module}{other}",
        "pip and uv build a package in an environment of its own (PEP 517), which has only what the package declares; its setup.py imports {module}{other} without declaring it.",
        "Install {module}{other} first, then pip install --no-build-isolation PACKAGE (uv: --no-build-isolation-package PACKAGE); or take a wheel that the project publishes for your torch, CUDA and Python",
        (
            "Getting requirements to build wheel did not run successfully. ModuleNotFoundError: No module named 'torch'",
            issue(246, "Dao-AILab/flash-attention"),
        ),
        level=ELSEWHERE,
    ),
    known(
        "packages.other-name",
        r"has inconsistent (?P<field>name|version): (?:expected '?(?P<wanted>[\w.+-]+)'?, but metadata has '?(?P<has>[\w.+-]+)'?|filename has)",
        "the package that pip builds has another {field} than the command gives it",
        "The part behind #egg=, or the file's name, says {wanted}, and the package's own metadata {has}: the project has renamed it since the command was written, or the file was renamed. pip discards it, and then finds nothing. The GPU has no part in it.",
        "Leave #egg=... out, or write `NAME @ git+https://...` with the name that the metadata have; for an old name take the commit of that time. Report it to the project whose instructions have the command",
        (
            "Requested flash-attn from git+https://x has inconsistent name: expected 'flashattn-hopper', but metadata has 'flash-attn'",
            issue(442, "alibaba/Pai-Megatron-Patch"),
        ),
        level=ELSEWHERE,
        instead_of=("packages.no-wheel", "elsewhere.import"),
    ),
    known(
        "packages.no-wheel",
        r"is not a supported wheel on this platform|(?:No matching distribution found for|Could not find a version that satisfies the requirement|No matching package named|Because) (?P<package>(?!nvidia-cutlass-dsl)[\w.-]+)(?:\[[\w,]+\])?(?P<version>[<>=!~]=?[\w.]+)?(?: \((?:from|unavailable)|$| was not found| has no (?:wheels|versions)|[^\n]{0,160}has no wheels)"
        r"|PackagesNotFoundError|has no wheels? with a matching (?P<tag>[\w ]{3,40})",
        "there is no package for this Python, system or CUDA: {package}{version} {tag}",
        "A wheel's name holds what it is for: Python (cp312), system (manylinux, x86_64 or aarch64), and for torch extensions the versions of torch and CUDA and the C++ ABI. None fits this environment, or the name is written wrongly.",
        "python -m pip --version and python -m pip debug --verbose list the tags that fit; take the wheel for them, another Python, or build from source. Names: quack-kernels, apache-tvm-ffi, flash-attn-4, nvidia-cutlass-dsl",
        (
            "ERROR: flash_attn-2.7.4+cu12torch2.4-cp310-cp310-linux_x86_64.whl is not a supported wheel on this platform.",
            "pip",
        ),
        level=ELSEWHERE,
        instead_of=("elsewhere.import", "packages.conflict"),
    ),
    known(
        "packages.managed",
        r"externally-managed-environment|Permission denied: '/usr/(?:local/)?lib/python|Defaulting to user installation",
        "the system's Python is not for pip",
        "The distribution manages that Python's packages, and pip may not write there (PEP 668).",
        "python3 -m venv .venv makes an environment; install with its .venv/bin/pip",
        ("error: externally-managed-environment", "pip"),
        level=ELSEWHERE,
    ),
    known(
        "packages.binary",
        r"size changed, may indicate binary incompatibility|compiled using NumPy 1\.x cannot be run in|numpy\.core\.multiarray failed to import|module was compiled against (?:NumPy C-)?API version|[Ii]nvalid ELF header|file too short|wrong ELF class|cannot execute binary file|[Ee]xec format error",
        "a compiled file does not fit what loads it",
        "It was built against another version of a package (NumPy 1 and 2 differ), for another processor (x86-64 and aarch64), or is cut off: a cache that two processes wrote at one time, a file of Git LFS that was not fetched.",
        "Delete a cached file and build again (TileLang: ~/.tilelang/cache, FlashInfer: ~/.cache/flashinfer, torch: ~/.cache/torch_extensions); reinstall a package: pip install --force-reinstall --no-cache-dir PACKAGE; `file PATH` says what a file is",
        (
            "ValueError: greenlet.greenlet size changed, may indicate binary incompatibility. Expected 152 from C header, got 40 from PyObject",
            issue(96, "sunsmarterjie/yolov12"),
        ),
        level=ELSEWHERE,
    ),
)  # fmt: skip
