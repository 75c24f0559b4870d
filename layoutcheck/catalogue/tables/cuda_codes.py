"""Error codes of CUDA that are about no copy of the kernel, by what they have in common.

The names, numbers and words are those of cudaError_t and CUresult (CUDA 13 runtime and driver API). A text holds one of
the three: "cudaErrorTensorMemoryLeak", "CUDA_ERROR_TENSOR_MEMORY_LEAK", "CUDA error 721", "tensor memory not completely freed".
"""

from __future__ import annotations

import re

from layoutcheck.catalogue.entry import ELSEWHERE, TRACE, Known, known

_API = "CUDA 13 runtime API, cudaError_t"
_PREFIX = r"(?:\bCUresult[ (:=.]{1,3}|\bcu(?:da)?[A-Z]\w+ (?:failed|returned)(?: with)?(?: error)?(?: code)?:? |CUDA (?:runtime |driver )?[Ee]rror(?: code)?[: #=]{1,3}|[Ii]nvalid error code \(|\(error-code |[( ]error |error code ?[=:] ?(?:CU:)?|CUDA_ERROR_UNKNOWN \((?:error )?code:? ?)"


def codes(*numbers: int) -> str:
    """The pattern of these numbers where a text prints them alone: "CUDA error 9 at k.cu:604", "(error 912)"."""
    return _PREFIX + "(?:" + "|".join(map(str, numbers)) + r")\b(?!\.[0-9])"


_TITLES = {
    2: "the GPU has no memory left",
    209: "the program holds no code for this GPU",
    100: "there is no GPU here",
}  # of codes that stand in other tables; the families add theirs


def _family(name: str, numbers: tuple[int, ...], names: str, words: str, title: str, cause: str, remedy: str, example: str,
            level: str = ELSEWHERE, rule: str | None = None) -> Known:  # fmt: skip
    """An entry for the codes of these numbers; `names` are the runtime's ("PeerAccess TooManyPeers"), by their beginning."""
    _TITLES.update(dict.fromkeys(numbers, title))
    driver = [re.sub(r"(?<=[a-z])(?=[A-Z])", "_", one).upper() for one in names.split()]
    # A wrapper that does not know a code calls it UNKNOWN, and prints its number behind.
    pattern = rf"cudaError(?:{'|'.join(names.split())})\w*|CUDA_ERROR_(?:{'|'.join(driver)})\w*(?! \((?:error )?code:? ?(?!999))"
    parts = [f"(?P<code>{pattern})", *([f"(?P<words>{words})"] if words else []), codes(*numbers)]
    return known(
        name, "|".join(parts), title, cause, remedy, (example, _API), level=level, rule=rule
    )  # fmt: skip


ENTRIES = (
    _family(
        "cuda.tensor-memory-leak", (721,), "TensorMemoryLeak", "tensor memory not completely freed",
        "the kernel ends and still holds tensor memory",
        "Columns that tcgen05.alloc took are freed by tcgen05.dealloc before the kernel ends: by a whole warp, with the address and the number of "
        "columns of the allocation, in every block that allocated, those with no work included (PTX ISA, tcgen05.dealloc).",
        "Let one warp of every block free what it allocated, on every way out, behind a barrier with the readers. " + TRACE,
        "CUDA error: tensor memory not completely freed", level="wrong",
    ),
    _family(
        "cuda.cluster-size", (912,), "InvalidClusterSize InvalidCluster", "cluster misconfiguration|[Ii]nvalid cluster size",
        "the GPU cannot run a cluster of this size",
        "A cluster has at most 8 blocks, or 16 where the kernel allows the non-portable size; all run at one time in one GPC, so shared memory, "
        "registers and the GPCs that a GPU has left set a lower limit; its extents must divide the grid's (CUDA C++ Programming Guide, thread block clusters).",
        "Print grid, cluster and shared memory of the launch, and ask cudaOccupancyMaxPotentialClusterSize for this GPU; above 8 set "
        "cudaFuncAttributeNonPortableClusterSizeAllowed. `layoutcheck trace --no-launch SCRIPT` lists each kernel's launch",
        "CUDA error: a kernel launch error has occurred due to cluster misconfiguration", level="rejected",
    ),
    _family(
        "cuda.cooperative-launch", (720,), "CooperativeLaunchTooLarge", "too many blocks in cooperative launch",
        "a cooperative launch has more blocks than run at one time",
        "All blocks of a cooperative kernel must be on the GPU together: its multiprocessors times the blocks that fit on one.",
        "Launch at most cudaOccupancyMaxActiveBlocksPerMultiprocessor times the multiprocessors; `layoutcheck resources` counts the blocks of a tile that fit",
        "CUDA error: too many blocks in cooperative launch", level="rejected",
    ),
    _family(
        "cuda.timeout", (702, 909), "LaunchTimeout Timeout", "the launch timed out and was terminated|wait operation timed out",
        "the kernel ran longer than the system allows, or never ends",
        "A GPU that drives a display ends kernels after some seconds. On others the kernel waits for something that never comes: bytes of an mbarrier, "
        "an arrival, a barrier under divergence.",
        "Make the problem small: a kernel that still times out hangs. LC220 and LC236 compare an mbarrier's bytes with the copy's. " + TRACE,
        "CUDA error: the launch timed out and was terminated", level="wrong",
    ),
    _family(
        "cuda.graph-fork", (904, 905), "StreamCaptureUnjoined StreamCaptureIsolation",
        "capturing stream has unjoined|dependency created on uncaptured work in another stream",
        "a captured CUDA graph forks to a second stream that does not come back",
        "Work went from the captured stream to another one (an event, a communication library, a second kernel's stream), and the captured stream does not wait for it before the capture ends; or it waits for work that began before the capture.",
        "Record an event on the second stream after its work and let the captured stream wait for it (torch: main.wait_stream(side)) inside the capture; no layout is concerned, "
        "PyTorch's and NVIDIA's guides to CUDA graphs have the pattern",
        "CUDA error: capturing stream has unjoined work",
    ),
    _family(
        "cuda.graph-capture", (900, 901, 902, 903, 906, 907, 908, 910, 918), "StreamCapture(?!Unjoined|Isolation) CapturedEvent GraphExecUpdateFailure GraphRecaptureFailure",
        "(?:when|while) stream is capturing|capture sequence|during capture|capturing (?:blocking )?stream(?! has unjoined)|capture was not ended|recapturing to the source graph|graph update was not performed",
        "a call is made that a CUDA graph cannot capture",
        "While a stream is captured, synchronisation, allocation with cudaMalloc and work on the legacy stream are not allowed. The DSL compiles and "
        "loads a kernel at its first call, which is such work, and launches on the default stream unless one is given.",
        "Run the kernel once before the capture, and pass the captured stream to it (stream= of .launch, torch.cuda.current_stream().cuda_stream)",
        "CUDA error: operation not permitted when stream is capturing", level="rejected",
    ),
    _family(
        "cuda.driver-too-old", (10, 34, 35, 36, 49, 221, 222, 223, 227, 803, 804),
        "StubLibrary InsufficientDriver CallRequiresNewerDriver IncompatibleDriverContext JitCompilerNotFound JitCompilationDisabled UnsupportedPtxVersion "
        "InsufficientLoaderVersion SystemDriverMismatch CompatNotSupportedOnDevice VersionTranslation",
        "compl?ied with an unsupported toolchain|compiled with an unsupported toolchain|driver is a stub library|API call is not supported in the installed CUDA driver|incompatible driver context"
        "|(?i:(?:CUDA\\w*|driver|runtime)\\W{0,3}(?:error)?\\W{0,3}Insufficient_?Driver\\b)|PTX JIT compil\\w+ (?:library not found|was disabled)|Loader version is insufficient|unsupported display driver|[Dd]river version is insufficient|[Ff]orward compatibility was attempted|Driver is newer than runtime|unsupported CUDA version: driver|unsatisfied condition: cuda ?>=",
        "the driver is older than the toolkit that made the program, or another one than it loads",
        "PTX and libraries of a newer CUDA toolkit need a driver of its version or a newer one, and so does cuda-python (cuda-bindings), through which the DSL calls CUDA: its releases 13 need driver 580 or newer. libcuda.so is the driver's own and must match the kernel module. Where the DSL adds 'Target SM ARCH unknown', that only follows from it.",
        "`nvidia-smi` prints the newest CUDA that the driver takes, `nvcc --version` and `pip list` the toolkit's: update the driver, or use the toolkit of the driver "
        "(the DSL has packages for CUDA 12 and 13; `pip install 'cuda-python<13'` for a driver of CUDA 12). NVIDIA's CUDA compatibility guide has the table",
        "the provided PTX was compiled with an unsupported toolchain",
    ),
    _family(
        "cuda.symbol", (13, 301, 302, 303, 913), "InvalidSymbol FileNotFound SharedObject FunctionNotLoaded",
        "CUDA error: file not found|invalid device symbol|device kernel image source|shared object (?:symbol not found|initialization failed)|function handle is not loaded",
        "a kernel, symbol or file of device code is not found",
        "The library that holds it was not built with it, was built for another architecture, or is of another version than its caller.",
        "`cuobjdump --list-elf FILE` names the architectures of a library, `cuobjdump --dump-resource-usage FILE` its kernels; build both parts from one version",
        "CUDA error: shared object symbol not found",
    ),
    _family(
        "cuda.memory-call", (12, 16, 17, 21, 32, 712, 713), "InvalidPitch InvalidHostPointer InvalidDevicePointer InvalidMemcpyDirection MemoryValueTooLarge HostMemory",
        "invalid pitch argument|invalid (?:host|device) pointer|invalid copy direction|too large to fit in 32 bit|memory range is already mapped|registered memory region",
        "a call about memory got an address, a size or a direction that is not valid",
        "A pointer is of the host where one of the device is taken (or the reverse), was freed, or was not allocated or registered by CUDA; it is the call's own argument and no kernel.",
        "Print the pointers with cudaPointerGetAttributes before the call",
        "CUDA error: invalid device pointer",
    ),
    _family(
        "cuda.context", (3, 4, 127, 201, 202, 400, 708, 709, 917), "CudartUnloading Initialization NotInitialized InvalidContext Deinitialized DeviceUninitialized InvalidResourceHandle InvalidHandle ContextIsDestroyed ContextAlreadyCurrent StartupFailure StreamDetached SetOnActiveProcess PrimaryContextActive",
        "driver shutting down|invalid device context|invalid resource handle|context is destroyed|startup failure in cuda|cannot set while device is active|initialization error|green context",
        "a stream, event, module or context is used that is not valid here",
        "It belongs to another device or context, was destroyed, or the process is ending or was forked after CUDA began; or a driver call comes before the first use of the GPU.",
        "Call cutlass.cuda.initialize_cuda_context() or torch.cuda.init() first, create streams and events on the device that is current at the launch (torch.cuda.device), start processes with spawn, and launch nothing from destructors at exit",
        "CUDA error: invalid resource handle",
    ),
    _family(
        "cuda.device-unavailable", (46, 47, 101, 102, 103, 216, 802, 916, 919),
        "InvalidDevice(?!Pointer) DevicesUnavailable DeviceUnavailable DeviceNotLicensed SoftwareValidity DeviceAlreadyInUse ContextAlreadyInUse SystemNotReady FabricNotReady MulticastResourceFull KeyRotation",
        "devices?(?:\\(s\\))? is/are busy or unavailable|valid Grid license|integrity checks failed|exclusive-thread device|system not yet initialized|GPU fabric is not ready|invalid device ordinal",
        "the GPU is not available to this process",
        "Another process holds it in exclusive mode, its number does not exist under CUDA_VISIBLE_DEVICES, or a service of the system (fabric manager, licence) has not started.",
        "`nvidia-smi` shows mode, processes and the devices that there are; on NVSwitch systems start nvidia-fabricmanager",
        "CUDA error: CUDA-capable device(s) is/are busy or unavailable",
    ),
    _family(
        "cuda.hardware", (214, 220, 226), "ECCUncorrectable EccUncorrectable NvlinkUncorrectable Contained",
        "uncorrectable (?:ECC|NVLink) error|hardware error",
        "the GPU or a link reports a hardware error",
        "Memory or NVLink had an error that cannot be corrected; the kernel is not its cause.",
        "`nvidia-smi -q -d ECC` counts them, and the system's log names the Xid; the machine's owner resets or replaces the GPU",
        "CUDA error: uncorrectable ECC error encountered",
    ),
    _family(
        "cuda.peers", (217, 704, 705, 711, 911), "PeerAccess TooManyPeers ExternalDevice",
        "peer access (?:is not|is already|has not)|peer mapping resources|external entity outside of CUDA",
        "memory of another GPU is not open to this one",
        "Peer access is switched on for each pair of devices, once, and not every pair can have it.",
        "Ask cudaDeviceCanAccessPeer, and enable it once (already enabled is no fault); NVIDIA's multi-device guide has the calls",
        "CUDA error: peer access has not been enabled",
    ),
    _family(
        "cuda.mps", tuple(range(805, 811)), "Mps MpsConnectionFailed", "MPS (?:client|server)|required to support device connections",
        "the Multi-Process Service refuses or lost this process",
        "The GPU is shared through MPS, whose server is not there, is full, or ended after a fault of another client.",
        "Restart nvidia-cuda-mps-control, or run without it; NVIDIA's MPS guide answers",
        "CUDA error: MPS client failed to connect to the MPS control daemon or the MPS server",
    ),
    _family(
        "cuda.dynamic-parallelism", (52, 65, 66, 67, 68, 69, 225, 811, 812), "MissingConfiguration LaunchMaxDepth LaunchFileScoped SyncDepth LaunchPendingCount UnsupportedDevSideSync UnsupportedDevsideSync Cdp",
        "nested launches|file-scoped (?:textures|surfaces)|grid depth exceeds|RuntimePendingLaunchCount|unsupported call to cudaDeviceSynchronize|Dynamic Parallelism|function call is not configured",
        "a kernel that launches kernels exceeds what the GPU allows it",
        "Launches from device code have limits of depth and number, and no cudaDeviceSynchronize since CUDA 12.",
        "Launch from the host, or follow the dynamic parallelism chapter of the CUDA C++ Programming Guide",
        "CUDA error: launch would exceed maximum depth of nested launches",
    ),
    _family(
        "cuda.textures", (18, 19, 20, 22, 23, 24, 26, 27, 37, 43, 44, 45, *range(205, 209), *range(210, 214), 219, 703),
        "InvalidTexture InvalidChannelDescriptor AddressOfConstant Texture InvalidFilter InvalidNorm InvalidSurface Duplicate MapBuffer UnmapBuffer MapFailed UnmapFailed ArrayIsMapped AlreadyMapped AlreadyAcquired NotMapped InvalidGraphics LaunchIncompatibleTexturing",
        "texture (?:reference|is not bound)|from (?:a )?texture|channel descriptor|linear filtering|normalized float|surface reference|looked up by string name|buffer object failed|(?:array|resource) (?:is |already |not )?(?:mapped|acquired)|OpenGL or DirectX|texturing mode|address of constant",
        "a texture, surface or graphics resource is used as it was not made",
        "CuTe's kernels use none of them; another library of the process does.",
        "The library that makes the call answers; the CUDA runtime API lists what each returns this for",
        "CUDA error: invalid texture reference",
    ),
    _family(
        "cuda.not-permitted", (401, 800), "IllegalState NotPermitted", "operation not permitted(?! when)|cannot be performed in the present state",
        "the call is not allowed at this moment",
        "It is the state, not the device: most often a stream is being captured into a CUDA graph, and meanwhile a module is loaded, a kernel compiled at its first call, memory allocated or a stream synchronised. No kernel is at fault. In a container it is also a call for which a right is missing (performance counters, multicast, IPC).",
        "Run the call once before the capture (a warm-up with the same shapes), compile and load there, or leave graphs off to see whether it stays (vLLM: --enforce-eager, SGLang: --disable-cuda-graph); CUDA_MODULE_LOADING=EAGER loads before",
        "CUDA driver error: 800 (CUDA_ERROR_NOT_PERMITTED, operation not permitted)",
    ),
    _family(
        "cuda.not-supported", (25, 28, 31, 215, 224, 304, 402, 801, 914, 915),
        "SynchronizationError MixedDevice NotYetImplemented UnsupportedLimit UnsupportedExecAffinity OperatingSystem LossyQuery NotSupported InvalidResource(?!Handle)",
        "operation not supported(?! on global| when)|limit is not supported|execution affinity is not supported|feature not yet implemented|OS call failed|semantically lossy|not valid resource types|insufficient or non-applicable|incorrect use of __syncthreads|device emulation",
        "this GPU, driver or system does not allow the call",
        "A feature is missing on the device (multicast memory, pools, a limit), or the process may not use it (performance counters, a container without the device's files).",
        "Ask the device's attribute before the call (cudaDeviceGetAttribute); for profilers see NVIDIA's page on ERR_NVGPUCTRPERM",
        "CUDA error: operation not supported",
    ),
    _family(
        "cuda.no-fault", (5, 6, 7, 8, 600), "Profiler NotReady", "profiler (?:disabled|not initialized|already)|device not ready",
        "CUDA reports a state, not a fault",
        "NotReady is the answer of a query while work still runs; the profiler's codes say that it is on or off already.",
        "Wait with cudaStreamSynchronize instead of asking, or ignore the code",
        "CUDA error: device not ready",
    ),
    _family(
        "cuda.unknown", (999, 10000), "Unknown ApiFailure", "CUDA error: unknown error|unknown error \\(999\\)|api failure base",
        "the driver does not know what failed",
        "Often the driver's modules and its library differ after an update, the machine slept, or a fault was not named.",
        "Restart the process, then the machine; where it comes back run under compute-sanitizer, and NVIDIA's forums take `nvidia-bug-report.sh`",
        "CUDA error: unknown error",
    ),
)  # fmt: skip


def meaning(number: int) -> str:
    """What the entry of a code says of it; "" for a code that is in none."""
    return _TITLES.get(number, "")
