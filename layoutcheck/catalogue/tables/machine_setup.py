"""What a machine says that is not set up for CUDA: driver, container, toolkit, a library that is not found, no memory."""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, known

ENTRIES = (
    known(
        "setup.driver",
        r"Driver/library version mismatch|NVIDIA driver on your system is too old(?: \(found version (?P<version>[0-9]+)\))?|NVIDIA-SMI has failed|nvidia-smi has failed|Module nvidia(?:-current)? not found|driver not loaded|couldn't communicate with the NVIDIA driver"
        r"|Failed to initialize NVML|API mismatch: the client has the version",
        "the NVIDIA driver is not loaded, too old, or of two versions {version}",
        "The kernel module and the user's libraries (libcuda, NVML) are of one version, and the toolkit asks for a driver of its time or newer. After an update the old module stays loaded until it is reloaded; a new system kernel needs the module built anew.",
        "Reboot, or unload and load the module (rmmod nvidia_uvm nvidia; modprobe nvidia), then nvidia-smi; install a driver that the CUDA release notes name for this CUDA, or a torch for an older CUDA",
        ("Failed to initialize NVML: Driver/library version mismatch", "NVML"),
        level=ELSEWHERE,
        instead_of=("cuda.context", "elsewhere.no-gpu"),
    ),
    known(
        "setup.container",
        r"could not select device driver|nvidia-container-cli: (?P<said>[^\n]{3,120})|unknown or invalid runtime name: nvidia|failed to inject CDI devices|Auto-detected mode as",
        "the container runtime gives no GPU to the container {said}",
        "Docker hands GPUs on through the NVIDIA container toolkit. It is not installed or not configured, or the driver of the host does not run.",
        "nvidia-smi on the host first; install nvidia-container-toolkit, nvidia-ctk runtime configure --runtime=docker, restart docker, and start with --gpus all",
        ('could not select device driver "" with capabilities: [[gpu]].', "Docker"),
        level=ELSEWHERE,
        instead_of=("cuda.context", "setup.driver"),
    ),
    known(
        "setup.processor",
        r"(?i)illegal instruction \(core|\bSIGILL\b",
        "the host's processor meets an instruction that it does not have",
        "'Illegal instruction (core dumped)' ends a process of the CPU: the program was compiled for newer instructions (AVX2, AVX-512, an Arm extension). No kernel of the GPU is concerned.",
        "lscpu lists what the processor has; take a build without those instructions (GGML_NATIVE=OFF, -march=x86-64-v2), or build on this machine. Report it to {project}",
        ("Illegal instruction (core dumped)", "a shell"),
        level=ELSEWHERE,
        instead_of=("cuda.illegal-instruction", "cuda.illegal-instruction-ampere"),
    ),
    known(
        "setup.library",
        r"(?P<library>lib(?!cuda\.so|nccl-net)(?:cu\w+|nv\w+|nccl|caffe2_nvrtc|c10\w*|torch\w*|tvm_ffi|cutlass)[\w.-]*\.so(?:\.[0-9.]+)?): (?:cannot open shared object file|file not found)|(?:Could not (?:load|find)|Unable to load|cannot find) (?:any of )?(?:the )?(?:dynamic )?(?:library[^\n]{0,20}?)?(?P<other>lib[\w-]+\.so[.0-9]*)(?![^\n]{0,200}undefined symbol)",
        "a library that the program loads is not found: {library}{other}",
        "The number behind .so is its major version: libcudart.so.12 is of CUDA 12, .so.13 of CUDA 13. The package was built for a CUDA or torch that this environment does not have, or its folder is not searched. libcuda and libnvidia-... are parts of the driver, of its version: a container gets them from the host. An error below it (cuDNN without execution plans where libnvrtc is missing) follows from it.",
        "Install the build for the CUDA at hand (torch.version.cuda), or the missing package (nvidia-cuda-runtime, nvidia-cublas, nvidia-cudnn, nvidia-cuda-nvrtc for libnvrtc, nvidia-nccl of that major version); import torch before the extension; LD_LIBRARY_PATH or ldconfig for a toolkit of the system; a library's own part (libtransformer_engine.so) comes with a clean install of that package in one version. Report what stays to {project}",
        ("ImportError: libcudart.so.13: cannot open shared object file: No such file or directory", "glibc"),
        level=ELSEWHERE,
    ),
    known(
        "setup.toolkit",
        r"CUDA_HOME (?:environment variable is not set|is not set|does not exist)|detected CUDA version \((?P<found>[0-9.]+)\) mismatches the version that was used to compile PyTorch \((?P<built>[0-9.]+)\)|Ninja is required to load|command '\S*(?:nvcc|ninja)' failed: No such file|(?:nvcc|ptxas|ninja|cuobjdump|nvdisasm|fatbinary)[`'\"]?:? (?:command |was |is |could )?not (?:be )?found"
        r"|[Nn]o CUDA (?:toolkit|runtime) (?:is |was )?found|FlashAttention is only supported on CUDA|(?:Cannot|Could not|Unable to) (?:find|locate)(?: the)? (?:CUDA (?:toolkit|installation)|nvcc|ptxas)",
        "the CUDA toolkit, or a tool of it, is not there or of another version {found} {built}",
        "Packages that compile at install or run time call nvcc, ptxas, cuobjdump and ninja. The driver, and torch's wheels, bring none of them. Extensions of torch need a toolkit of the same major version as torch's.",
        "Install the toolkit of torch.version.cuda's major version with its nvcc, export CUDA_HOME=/usr/local/cuda and put $CUDA_HOME/bin on PATH; pip install ninja",
        (
            "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.",
            "PyTorch",
        ),
        level=ELSEWHERE,
    ),
    known(
        "setup.toolkit-path",
        r"(?<![\w/]):(?P<path>/\S{1,200}/bin/(?:nvcc|ptxas))\b|(?:CUDA_HOME|CUDACXX|CUDA_PATH)=(?P<variable>[:~]\S+|\S+:/\S+)",
        "the path of the CUDA compiler begins with a colon or a '~', so that no file is there: :{path}{variable}",
        "CUDA_HOME is one folder. A line such as export CUDA_HOME=$CUDA_HOME:/usr/local/cuda makes a list of it, and an empty first part leaves the colon; '~' in quotes is not expanded.",
        "export CUDA_HOME=/usr/local/cuda (one folder, written out), and start again with an empty cache of the build",
        ("[1/11] :/usr/local/cuda-12.8/bin/nvcc --generate-dependencies-with-compile", "ninja"),
        level=ELSEWHERE,
    ),
    known(
        "elsewhere.command-alone",
        r"(?:\[[0-9]+/[0-9]+\] |^ ?)(?P<tool>(?:\"?[A-Z]:\\[^\[\]\"\n]{1,160}?)?\S*(?:nvcc|g\+\+|c\+\+|clang\+\+|hipcc|cl)(?:\.exe)?)\"? (?:-|/)(?!.{0,60000}(?:\berror\b ?[C:0-9]|\bfatal\b|\bwarning\b))",
        "the text has the command of {tool} and not what it printed",
        "ninja prints each command with its number, and below it the compiler's lines where it fails.",
        "Paste the lines below the command, from the first with 'error' on; of a command that FAILED run it alone in a shell",
        ("[13/42] /usr/local/cuda/bin/nvcc --generate-dependencies-with-compile -c a.cu -o a.o", "ninja"),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "setup.killed",
        r"^ ?(?:\S{1,80}: line [0-9]+: +[0-9]+ )?Killed(?: \S{1,200})*? ?$|Out of memory: Kill(?:ed)? process|oom-kill|OOMKilled|signal: killed|DataLoader worker \(pid [0-9]+\) is killed",
        "the system ended the process: it has no memory left",
        "The kernel of the operating system, or the container's limit, ends the process that takes most of the host's memory. Compiling CuTe's templates takes several GB in each job; loading a model takes its size.",
        "dmesg -T | grep -i 'killed process' names it. Build with MAX_JOBS=2 (NVCC_THREADS=1), raise the container's limit, or add swap",
        ("Killed", "Linux"),
        level=ELSEWHERE,
        general=True,
    ),
    known(
        "setup.debugger",
        r"CUDBG_ERROR_(?P<status>\w+)|(?i:cuda-gdb): (?P<said>[^\n]{5,120})|Failed to get driver exports table|Unable to initialize (?:the )?(?:debugger|CUDA debugger)",
        "the CUDA debugger or sanitizer does not work with this driver: {status}{said}",
        "cuda-gdb and compute-sanitizer talk to the driver's debugger interface: they must not be newer than the driver, one debugger or profiler uses a GPU at a time, and in a container or WSL the interface may be closed.",
        "Take the tool of the toolkit that the driver was published with; end other profilers; CUDA_VISIBLE_DEVICES to one GPU, containers with --cap-add=SYS_PTRACE. `layoutcheck trace --no-launch SCRIPT` needs none of them",
        ("error=CUDBG_ERROR_COMMUNICATION_FAILURE", "cuda-gdb"),
        level=ELSEWHERE,
        general=True,
    ),
)
