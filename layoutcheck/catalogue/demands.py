"""What a library asks for where it refuses a call: the kind of its message, by words that libraries have in common.

The message is the statement. What is added is why such a condition stands in a GPU library, and what makes it hold.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Demand(NamedTuple):
    """A kind of message: `words` that tell it, its `cause` and what `helps`."""

    words: re.Pattern[str]
    cause: str
    helps: str


def _demand(words: str, cause: str, helps: str) -> Demand:
    return Demand(re.compile(words), cause, helps)


_BEYOND = r"exceed|too (?:large|big|much)|\blimit| [<>]=? |at most|\bfit|more than|lacks?\b|more (?:\w+ ){1,4}than|maximum|capacity|insufficient|not enough"  # words of what is more than there is
# In order: what is missing or elsewhere before what is asked of a value, and the more particular demand first.
DEMANDS = (
    _demand(
        r"requires? the default `?\w+|only (?:supports?|with) the default|(?:non-default|custom) \w+ (?:is|are) not (?:yet )?supported",
        "This back end has code for the default of that argument alone, and for no other value yet.",
        "Leave it at its default, or take another back end (of flex attention kernel_options={'BACKEND': 'TRITON'}, or no BACKEND), or a newer release",
    ),
    _demand(
        r"could not get source code|source code (?:is )?not available|Failed to (?:get|find) source",
        "A compiler of Python functions reads their source text (inspect.getsource), which Python keeps for a file or a notebook's cell, and not for a REPL, exec() or python -c.",
        "Put the decorated functions into a file and run or import that",
    ),
    _demand(
        r"no kernel image|kernel image is invalid|invalid device function|\bCode: 209\b",
        "The program has no code for this GPU: it was built for others.",
        "Build it for the one at hand, or install a build that lists it: PYTORCH_ROCM_ARCH or --offload-arch with the gfx name that rocminfo prints, TORCH_CUDA_ARCH_LIST with the compute capability of NVIDIA's",
    ),
    _demand(
        r"(?i)\bsegfault\w*|\bseg(?:mentation)? fault",
        "Compiled code of it ends the process: no argument is refused in words, and none is known to be wrong.",
        "Find the smallest shape that does it, and try the next release and another back end; the library's own log names the call that it was in",
    ),
    _demand(
        r"(?i)truncated \w+(?:-\w+)? (?:stream|file|data|archive)|(?:unexpected|premature) end of (?:file|stream|data|archive|input)|is not a zip file|\bzstd\b.{0,200}(?:error|corrupt|stream)|incomplete (?:download|file|metadata)|checksum mismatch",
        "A file ends before its data does: a checkpoint, a wheel or an archive of compiled kernels was not downloaded or written to its end. No kernel has run.",
        "Look above for the file's name, delete it (also in the cache: ~/.cache/huggingface, ~/.cache/flashinfer, the package's own) and fetch it again; look at free disk space",
    ),
    _demand(
        r"(?i)ndim expected [0-9],? but got [0-9]{4,}|(?:ndim|rank|dims?)\b.{0,40}got [0-9]{6,}",
        "The number is no count of modes: the function reads memory that is no tensor's description. The argument is an object that it does not know (a DLPack capsule, a pointer, a tensor of another framework).",
        "Pass an object with __dlpack__ (a torch, JAX or CuPy array), or tvm_ffi.from_dlpack(x), and not the capsule that to_dlpack gives",
    ),
    _demand(
        r"max_frags_\w+|num_(?:frags|mma)_\w+ ?= ?[0-9]|Invalid configuration ?: num_",
        "The kernel cuts its tile into fragments of 16 x 16: num_frags_y (num_mma_d) is the head dimension divided by 16. It has no tile of this head dimension that fits registers and shared memory; its head dimensions are multiples of 64 up to 256.",
        "Pad the head dimension to one that it has (64, 128, 256), or take another back end",
    ),
    _demand(
        r"(?i)unsupported tile .{0,60}shape combination|\btile\b.{0,80}\bcluster\b.{0,60}combination",
        "The GEMM was asked for a tile and a cluster that it is not compiled with for this architecture; the architecture itself is fine. Such a pair comes from a tuner's list, or from a cache that another GPU or version wrote.",
        "Clear the tuner's cache or switch tuning off, choose another tactic or back end (of vLLM and SGLang the MoE back end), or take a newer release",
    ),
    _demand(
        r"\b(?:[Oo]nly (?:supported )?(?:on |for )?|[Rr]equires? (?:a |an )?)(?:NVIDIA )?(?:Hopper|Blackwell|Ampere|Ada|Turing|Volta|H[12]00|B[23]00)\b|(?i:devices? (?:with|of) compute capability|compute capability (?:>=?|<=?|[0-9])|only supported on (?:devices|GPUs|SM))",
        "The library has this kernel for certain GPUs only, which the message names, and this one is not among them.",
        "nvidia-smi --query-gpu=compute_cap --format=csv names this GPU's; take the version or back end of the library that has it (FlashAttention 3 is for sm_90, 4 for sm_90 and sm_100, 2 for the others from sm_80 on)",
    ),
    _demand(
        rf"(?i)^(?=.*(?:{_BEYOND}|over\b)).*?(?:\btmem|tensor memory)",
        "Tensor memory has 512 columns of 32 bits and 128 lanes in an SM (sm_100, sm_103): accumulators (their N of f32 in each stage), scale factors and operands that are kept there share them, and alloc takes powers of two from 32 on.",
        "Add up the columns of all that the kernel keeps there; take a narrower N, fewer accumulator stages, or let two that never live together share columns",
    ),
    _demand(
        rf"(?i)^(?=.*(?:{_BEYOND})).*?(?:\bsmem|shared[_ ]?(?:mem\w*|storage))",
        "A block has at most 99 KiB (sm_86, sm_89, sm_120), 163 KiB (sm_80) or 227 KiB (sm_90, sm_100) of shared memory. All stages of all tiles, the epilogue's tile and the barriers share it. What a kernel declares with a fixed size (__shared__ T a[N]) has 48 KiB at most on each GPU; more is dynamic, and asked for.",
        "Take fewer stages, a smaller tile or a narrower type, or let the epilogue's tile take the place of operands that are used up; `layoutcheck resources` counts a tile",
    ),
    _demand(
        r"(?i)regist\w+ (?:more than once|twice|different \w+|multiple)|already registered|duplicate (?:registration|\w+ registered)",
        "One process loads two copies of a library that keeps a table of names: LLVM and MLIR stand in several packages (Triton, JAX, TensorFlow, the DSL), and those of two versions meet.",
        "Import one of the two packages alone; else take versions that hide their symbols, and the order of imports that works. python -X importtime shows who loads what",
    ),
    _demand(
        r"(?i)\bcluster_?(?: ?(?:sizes?|shapes?|dims?\w*|dimensions?))?\b.{0,80}(?:portable|exceed|at most|maximum|\bmax\b|too large|divi[ds]|multiple|[<>%]=?)",
        "A cluster has at most 8 blocks on every GPU that has clusters (sm_90 and newer; 16 on sm_90 and sm_100 by opting in, sm_120 takes what fits its smaller GPCs), and each extent of the grid is a multiple of the cluster's.",
        "Take a cluster whose product is 8 or less and divides the grid, or set cudaFuncAttributeNonPortableClusterSizeAllowed; cudaOccupancyMaxPotentialClusterSize says what the GPU has room for",
    ),
    _demand(
        r"(?i)output_size|input_size of|quantization block|block_[nk] ?=|weight.{0,40}(?:group|block).?size",
        "The weights are quantized in blocks, and each GPU's shard of them has to be whole blocks: the number that is divided is the layer's extent over the tensor-parallel size.",
        "Take a smaller tensor-parallel size (--tp), expert parallelism for the experts (--ep), or weights that are quantized otherwise; it is the serving program's (SGLang, vLLM) check",
    ),
    _demand(
        r"Symbols not found|resolve runtime symbol",
        "The program that was compiled calls a function by its name, and no library that is loaded defines it, or it was registered by another version of the interface than the call uses.",
        "Register the function before the call (JAX: jax.ffi.register_ffi_target, with the api_version that the handler is written for), or load the library that defines it",
    ),
    _demand(
        r"state variable|stateful dynamic (?:if|for|while)|not an MLIR Value",
        "A branch or loop that only the run decides gives a variable a new value, and what it holds is a Python object (a list, a tuple, None), which the compiled branch cannot return.",
        "Carry the entries as single numbers, or fill a tensor in place; where the condition is known while compiling, mark it so (const_expr)",
    ),
    _demand(
        r"[Cc]annot convert from type",
        "A value of one type of the FFI stands where a function takes another. Where both types are the library's own, caller and library are of different versions.",
        "Print the type of the argument before the call, and install versions that go together",
    ),
    _demand(
        r"(?i)type info for type_index|TypeTable|type (?:key|index)[^.]{0,40}not (?:registered|found)|not registered|no (?:registered|global) function",
        "The library keeps a table of types and functions, and this one is not in it: caller and library are of different versions, or the module that registers it is not loaded.",
        "Install versions that go together (pip list), and import the module that defines it before the call",
    ),
    _demand(
        r"(?i)(?:validation|verification|reference check|comparison|self.?test) failed\b.{0,120}[0-9]|\b(?:\w+_)?(?:abs|rel|mse|rmse|cos)(?:_?(?:err(?:or)?|diff))? ?[=:] ?[0-9.]+|not close|mismatched (?:\w+ )?elements|greatest absolute difference|(?<!fault )\btol(?:erance)?\b|rel(?:ative)?_?\W?err|max_?(?:abs_?)?\W?(?:diff|err)|[0-9] \(expected\)|elems? exceed|\bmismatches ?[=:]|\bactual ?[=:] ?[-0-9.]+,? expected|failed accuracy|accuracy (?:check|test)|\ballclose\b|\bf?abs\(.{1,80}?\) ?<=? ?[0-9.]+e-[0-9]|cosine|expected nan|assert [-0-9.e+]+ ?(?:<=?|>=?) ?\(*[-0-9.e+]",
        "A test compares a result with a reference, and they differ by more than it allows. One element in many by little is rounding, and the "
        "tolerance is too tight; many elements, whole rows or tiles, a relative error near or above 1, NaN or huge values are a wrong or early read, a race, or memory that was not written.",
        "Print where the elements lie that differ. `layoutcheck numerics tol` gives the tolerance that the arithmetic allows, and `layoutcheck trace --no-launch SCRIPT` judges "
        "every copy of the kernels and the order of their accesses",
    ),
    _demand(
        r"^'?(?:Windows|Darwin|Linux|win32|win_amd64|aarch64|arm64|x86_64)'?`?$",
        "A table of the program has no entry for this operating system or processor: it is not made for it.",
        "Use Linux on x86-64 (on Windows WSL2), or a build that others publish for this system",
    ),
    _demand(
        r"(?i)\brequires? [\w\[\]-]+ ?(?:(?:>=|==|~=) ?v?[0-9]|version|package|wheel)|(?:is|are) not installed|please (?:pip )?install|not (?:found|available)[.,;:] (?:please )?(?:install|run|build)|pip install|(?:maximum|minimum) version|version [0-9.]+(?:\.x)? (?:is|or)|requires the \w[\w ]* (?:wheel|package)|only supports? [\w ]{2,30} [0-9.]+ or (?:higher|newer|later|above)|is not available, but is needed|\b(?:DSL|cutlass|package|module|library|wheel|flash[_-]?attn|flashinfer|triton|quack|deep_?gemm)\b[\w ]{0,20} (?:is|are) not available|unsupported version|incompatible version|newer version|without the required dependenc|optional dependency",
        "The library looks for another package, or for another version of it, before it runs.",
        "python -m pip list shows what this environment has; install the version that the message or the library's requirements name, and start the same Python (python -c 'import sys; print(sys.executable)'). An import error of that package is hidden by such a message: import it alone",
    ),
    _demand(
        r"(?i)JIT compilation is disabled|JIT cache|cubins? (?:files?|is|are|not|cache)|failed to (?:load|open|download|fetch)|checksum|cached? (?:kernel|module|file|op)|corrupt",
        "The library loads compiled kernels that it keeps or downloads. One is missing, cut off, or of another version or GPU.",
        "Empty the library's cache folder, and look at its settings for JIT and downloads; where the machine has no network, install its package of prebuilt kernels of the same version",
    ),
    _demand(
        r"(?i)no (?:valid|suitable|working|available|supported|compatible|feasible)[\w ]{0,30}(?:config|tactic|kernel|algo|choice|implementation|backend|engine|plan)|NoValidChoices|skipping tactic|no execution plans?|no backend|no operator found|not? (?:attention )?backends? supports?|have not found any valid",
        "The library tries its kernels one after another, and none takes this problem on this GPU: a shape, a type, a head dimension, or shared memory beyond the GPU's limit (99 KiB on sm_120, 227 KiB on sm_90 and sm_100). A single tactic that is skipped while tuning does no harm.",
        "The lines around this one say why each was refused; switch the library's own log on. Take another back end, or sizes and types of its table of what it supports",
    ),
    _demand(
        r"(?i)error internal|kErrorInternal|error occurred when running gemm|failed to (?:run|launch|initiali[sz]e)[\w ]*(?:gemm|cutlass|kernel)|got cuda error|cuda error\b",
        "A kernel of the library could not be launched, or an earlier one has failed. Most often its shared memory exceeds what this GPU allows a block, or it was compiled for another architecture.",
        "Run with CUDA_LAUNCH_BLOCKING=1 and read the first CUDA error of the log; a build with CUTLASS_DEBUG_TRACE_LEVEL=1 names the call that fails. Compare the GPU with those that the library is built for",
    ),
    _demand(
        r"(?i)^(?!.*head_?dim)(?=.*(?:\bmust\b|\bshould\b|expect|\bonly\b|support|requir|\bgot\b|\bnot\b|invalid|mismatch|==|!=|\bin [\[(]|assert|\bfor\b|available|\bneeds?\b|cannot|can\'t|different|incompatible|no kernel|=)).*?(?:\bSM ?_?(?:[0-9]{2,3}[af]?|[0-9]{1,2}\.[0-9])\b|\bcompute capability|\b(?:Hopper|Blackwell|Ampere|Ada|Turing|Volta)\b|\bGPUs? (?:with|of|newer|is|are|architectures?)|\barch(?:itecture)?s?\b|device capability|current (?:GPU|hardware|platform)|(?:this|your) (?:GPU|hardware)\b)",
        "The library has this kernel for certain GPUs only, or was built without the one at hand. What compiles at run time also counts what the CUDA toolkit knows: for a GPU newer than nvcc (sm_120 before CUDA 12.8), or an empty list of architectures in the environment, no GPU is left, whatever the message says.",
        "Compare the GPU (nvidia-smi --query-gpu=compute_cap --format=csv) with the library's list, and `nvcc --version` with the GPU; take another back end, or build the library with this architecture",
    ),
    _demand(
        r"(?i)0-token|\bempty (?:tensor|batch|input)|null ?ptr|null pointer|data_ptr\(\)|input_activations|must not be (?:None|null)|is None\b|is required\b|must be (?:provided|given|set|specified|passed)|not (?:provided|specified)|missing\b",
        "An argument is missing, or is an empty tensor, whose address is 0; the kernel needs it in this mode.",
        "Look at which arguments this mode takes, and return before the call where the batch has no rows",
    ),
    _demand(
        r"(?i)(?:divisible by|multiples? of) (?!(?:16|32|64|128|256)[- ]?bytes?)[0-9]+(?! ?-?(?:bytes?|B)\b)|\bpowers? of (?:2|two)\b",
        "The kernel works in whole tiles, vectors, groups or powers of two, and a value is none of them.",
        "Pad an extent to such a multiple, or take a tile, group or type that divides it; print the shapes of all arguments before the call",
    ),
    _demand(
        r"(?i)is_cuda|\bbe on CUDA\b|\bCUDA tensors?\b|on (?:the )?(?:same )?(?:CUDA |GPU )?device|on (?:the )?(?:GPU|CPU)\b|device (?:mismatch|type)|to be on",
        "A tensor is on the CPU or on another GPU than the rest.",
        "Print tensor.device of every argument, and move them to one GPU: tensor.to('cuda')",
    ),
    _demand(
        r"(?i)contiguous|\bstrides?\b|\balign(?:ed|ment)?\b|\b16[- ]bytes?\b|layout of|row.?major|col(?:umn)?.?major",
        "The kernel reads memory in vectors or by TMA: it takes tensors whose elements are adjacent along one mode, and addresses and strides that are multiples of 16 bytes.",
        "Print tensor.stride() and tensor.data_ptr() % 16; give tensor.contiguous(), or the transposed view whose adjacent mode the function takes, and pad the extent along it",
    ),
    _demand(
        r"(?i)^(?=.*(?:\bmust\b|\bshould\b|expect|\bonly\b|support|requir|\bgot\b|\bnot\b|invalid|mismatch|==|!=|\bin [\[(]|assert|\bfor\b|available|\bneeds?\b|cannot|can\'t|different|incompatible|no kernel|=)).*?(?:\bdtypes?\b|\b(?:data|element|tensor|input|output|scalar|operand|argument|value|storage|weight|quant\w*) ?types?\b|\b(?:bf16|fp16|fp8|fp4|fp32|f16|f32|int8|int32|int64|bool)\b|\bb?float(?:16|32|64|8|4)?(?:_\w+)?\b|torch\.(?:float|bfloat|int|half)\w*|half precision)",
        "An argument has another element type than the kernel was made for.",
        "Print tensor.dtype of every argument, and convert: tensor.to(torch.bfloat16), or the type that the message names; index and length tensors are int32 in most kernels",
    ),
    _demand(
        r"(?i)divisible|multiple of|power of (?:2|two)|\bdivides?\b|\w ?% ?[0-9]+ ?={1,2}|\beven\b",
        "The kernel works in whole tiles, vectors or groups, and this extent is not a whole number of them.",
        "Pad the extent, or take a tile or group size that divides it",
    ),
    _demand(
        r"(?i)\bout of (?:range|bounds)|\bindex\b.{0,200}\b(?:range|bounds)|capacity|\bexceeds?\b|too (?:large|big|many|long|small|few)|at (?:most|least)\b|greater than|less than|must be (?:>|<|positive|non-?negative)|between \S+ and|\bin \[|\blimit\b|[Mm]aximum allowed|>= ?[0-9]|<= ?[0-9]",
        "A size, a count or an index is beyond what the kernel takes.",
        "Print the value before the call; the message or the function's documentation has the range",
    ),
    _demand(
        r"(?i)head_?dim|headdim|page_?size|block_?size|shapes?\b|dimensions?\b|\bdims?\b|\brank\b|\b[0-9]-?D\b|ndim|\bsizes?\b|length|seqlen|num_\w*heads|must (?:match|equal)|do(?:es)? not match|mismatch|same number|inconsistent",
        "The extents of the arguments do not go together, or are not of the few that the kernel was made for.",
        "Print the shapes of all arguments before the call; the library's table of head dimensions, page and block sizes says what it has kernels for",
    ),
    _demand(
        r"invalid conversion from .{1,80}? to ",
        "g++ refuses a conversion that C makes by itself: a C file is compiled as C++, or its declarations are of another version than its calls.",
        "Compile it as C: a tool that takes its C compiler from $CC (Triton, for the launcher that it writes) wants CC=gcc, not g++; else compare the versions of the headers",
    ),
    _demand(
        r"(?i)not (?:yet )?(?:supported|implemented|allowed)|(?:do|does|did)(?: not|n't) support|unsupported|\bonly supports?\b|\bsupports? only\b|only (?:allowed|valid|available)|must be (?:one of|either|in\b|['\"])|unknown|unrecogni[sz]ed|invalid|expected (?:one of|to be)|cannot be (?:used|combined)|incompatible with|mutually exclusive",
        "The library has no kernel for this combination of options: it says so instead of running another one.",
        "Take a value that the message names, leave the option out, or choose another back end of the library; a newer version may have it",
    ),
    _demand(
        r"(?i)(?:can't|cannot|could not|failed to|unable to) (?:free|allocate|alloc)\b|out of memory|workspace",
        "Memory of the GPU cannot be taken or given back: it is full, the workspace is smaller than the kernel asks for, or an earlier kernel has failed, after which every call of CUDA fails.",
        "Read the first CUDA error of the log, with CUDA_LAUNCH_BLOCKING=1; nvidia-smi shows what is free",
    ),
    _demand(
        r"(?i)\bexpected\b.{0,300}\b(?:got|but|found|actual)\b|\bassert .{1,60} == |failed to collect|(?-i:^FAILED\b)",
        "A check of the program compares what came out with what it expects, and they differ. The message has both.",
        "Read the check: the program's own logic computes that value, unless it comes out of a kernel",
    ),
    _demand(
        r"(?i)time(?:d)? ?out|watchdog|\bhang|heartbeat|^(?=.*(?:\brank|nccl|kernel|\bgpu|cuda|barrier|collective|\bblock\b|\bwarp)).*deadlock",
        "One process waits for another, or for a kernel, longer than it may. The process that failed first has another message, in its own log.",
        "Read the logs of all ranks for the first error; a kernel that never returns waits for an mbarrier or for another block",
    ),
)  # fmt: skip

# What a compiler of kernels says of its own steps.
INNER = _demand(
    r"unsupported AST node|[Pp]ass (?:pipeline|manager)|PassManager|see current operation|\berror: (?:'[a-z_]+\.[\w.]+' op |operand #[0-9]+ does not dominate|failed to (?:verify|legalize))",
    "One of its own steps stops: it meets the program in a form that it does not handle, as a tile too small or of unusual shape for the instruction, a number of warps, or an operation that the target does not have. No argument of the call is at fault by itself.",
    "Change the tile, stages, warps or options to find the statement that the message is about; take a newer release, and report the program with its IR (Triton: TRITON_KERNEL_DUMP=1, MLIR_ENABLE_DUMP=1)",
)  # fmt: skip

# What a C++ compiler says of code that is not CuTe's.
COMPILED = (
    _demand(
        r"attribute does not apply to any entity|attribute (?:is )?(?:ignored|not allowed) (?:here|in)|cannot be used (?:before|here) .{0,20}alignas",
        "An attribute or alignas stands at a place of the line where it belongs to no declaration: alignas(N) before `extern`, for instance.",
        "Write it behind the storage words: extern __shared__ __align__(1024) uint8_t smem[]; (1024 bytes for tiles of TMA's 128-byte swizzle, 128 for others)",
    ),
    _demand(
        r"\bNV_(?:IF_(?:ELSE_)?TARGET|DISPATCH_TARGET|PROVIDES_\w+|IS_(?:HOST|DEVICE))",
        "The macro is of <nv/target>, a header of CCCL, which CUDA's own headers read: the folder that holds it is not among those that are searched, or another copy of it stands first. NVRTC searches no folder by itself.",
        "Give the folder: -I $CUDA_HOME/include, from CUDA 13 on also -I $CUDA_HOME/include/cccl; take all headers of one toolkit",
    ),
    _demand(
        r"C2975|C2131|C3493",
        "Microsoft's compiler takes no constexpr variable of an enclosing lambda as a template argument, which g++ and clang do: it is no constant to it. No layout is concerned.",
        "Make the variable static constexpr, or pass the number as std::integral_constant; take a release of the library that has it, its wheel for Windows, or build under WSL 2",
    ),
    _demand(
        r"C3861|identifier not found",
        "cl.exe with /permissive- (on by default with /std:c++20) looks a name up where the template is written: a member of a base that depends on a template parameter is not seen there.",
        "Write this->NAME or Base::NAME at that place, take /permissive- out of the flags (_CL_, CXXFLAGS), or take a newer revision of the library",
    ),
    _demand(
        r"type/value mismatch|expected a type, got",
        "A template takes a type where the code gives a value, or the host's compiler takes a name that depends on a template parameter for a value: nvcc rewrites such code (decltype, nested templates) for the host, and some of its versions leave a `typename` out.",
        "Take another nvcc or host compiler that the library names, or a newer release of the library; in code of your own write `typename` and name the type by `using` first",
    ),
    _demand(
        r"missing 'typename'|'typename' (?:before|prior)|use 'template' keyword|need 'typename'|missing 'template'",
        "A name that depends on a template parameter needs `typename` (or `template`) before it. clang asks for it where nvcc and g++ let it pass: it is the source that is wrong, and no template argument.",
        "Add the word at that line, or take a revision of the library that clang compiles; nvcc with g++ as the host's compiler accepts it",
    ),
    _demand(
        r"aligned_storage|extended alignment",
        "The standard library of Visual C++ asks which layout std::aligned_storage is to have for alignments above max_align_t, which CUTLASS's types have; versions before 2017 15.8 had another.",
        "Define _ENABLE_EXTENDED_ALIGNED_STORAGE for nvcc and the host's compiler (-D_ENABLE_EXTENDED_ALIGNED_STORAGE); no layout is concerned",
    ),
    _demand(
        r"^static.assert\w* failed$",
        "A condition without a message is false, or cannot be evaluated, at the line that is named.",
        "Read the condition there, and the lines 'required from' or 'instantiation of' below the error for the template arguments. In an else of `if constexpr` an assertion that is false for every argument fails with some compilers even where the branch is not taken",
    ),
    _demand(
        r"\[-Werror|warning treated as error|treated as errors",
        "It is a warning of the compiler, which the build counts as an error (-Werror): a newer compiler warns of more than the author's.",
        "Take a revision that has it mended, or add -Wno-error (-Wno-error=NAME, the name in the brackets) to the flags",
    ),
    _demand(
        r"^expected (?:a|an|primary|unqualified)\b|type name is not allowed|expected primary-expression|before .?['\"<,;)(]",
        "The parser stops here: to it, the name that stands before is no type, template or value. The header that declares it is not read before this line, or is of another revision, or a macro of that name changes the text.",
        "Take the first such error and its name: include the header that declares it before this one (nvcc -H prints which are read and from where), and keep all headers of one commit",
    ),
    _demand(
        r"__CUDA_ARCH__|GPU_ARCH|\barch(?:itecture)?\b",
        "The file is compiled for an architecture that the library excludes: without a choice CMake and nvcc take their oldest one.",
        "Name the GPU's: -DCMAKE_CUDA_ARCHITECTURES=86, TORCH_CUDA_ARCH_LIST=8.6 or -gencode arch=compute_86,code=sm_86, and configure anew in an empty build folder",
    ),
    _demand(
        r"namespace \"std\" has no (?:member|template) |is not a member of 'std'|no member named '\w+' in namespace 'std'",
        "The standard library of the host's compiler does not declare the name: it is of a later C++ standard than the file is compiled by (bit_cast, span, concepts, remove_cvref: C++20; optional, variant, ..._v: C++17), or that library is too old for it.",
        "Give the standard that the project asks for to nvcc and to the host's compiler (-std=c++20 -Xcompiler -std=c++20), with a g++ that has it (g++ 11 for most of C++20) as -ccbin; nvcc knows C++20 from CUDA 12 on",
    ),
    _demand(
        r"\"M_(?:PI|E|LN2|LN10|LOG2E|LOG10E|SQRT\w+|[12]_\w+)\" is undefined|\bM_(?:PI|E|LN2|LOG2E|SQRT\w+)\b.{0,20}undeclared",
        "Constants such as M_PI are no part of C++: Microsoft's <cmath> declares them only where _USE_MATH_DEFINES is defined before it is read.",
        "Compile with -D_USE_MATH_DEFINES (nvcc -Xcompiler /D_USE_MATH_DEFINES), or build on Linux",
    ),
    _demand(
        r"narrow(?:ing|ed)\b",
        "A value is put into braces of a type that may not hold it: the compiler at hand, or its target, has other types than the author's. char is unsigned on AArch64 and signed on x86-64; long has 32 bits on Windows.",
        "Write a cast at that place, or take a revision of the library that has it; on AArch64 -Xcompiler -fsigned-char makes char signed",
    ),
    _demand(
        r"\bcuda::(?:std::)?\w+|\bcub::\w+|^(?!.*STATIC_ASSERT).*(?:\bthrust::\w+|libcu\+\+|/cccl/)",
        "The name is of CCCL (libcu++, CUB, Thrust): the copy that the include path finds first, most often the toolkit's, is older or newer than the code asks for.",
        "Put the CCCL that the project brings before the toolkit's (-I, not -isystem), or take the CUDA toolkit that the project names; nvcc -H prints which headers are read",
    ),
    _demand(
        r"STATIC_ASSERT|static_assert\w*<|too many initializer values|has no storage class|\bauto\b|constexpr|nullptr|decltype|fold.expression|c\+\+[0-9][0-9]",
        "A static assertion of the library is false, or is not understood: the compiler reads the file by an older C++ standard than it was written for, or as C++ of the host where device code (.cu) is meant.",
        "Give the standard of the project (-std=c++17 for nvcc and -Xcompiler), name the file .cu or compile it with -x cu, and read the lines 'required from' below the error for what the assertion tests",
    ),
    _demand(
        r"redefin|already (?:been )?(?:defined|declared)|multiple definition|ambiguous",
        "A name is declared twice: two copies of one header are read, or a macro or `using namespace` brings a second one.",
        "nvcc -H (gcc -H) prints which headers are read; keep one copy on the include path. A type or namespace of your own or of a third library with this name (half, cuda, dim3) goes into a namespace, or is read after CUTLASS's headers",
    ),
    _demand(
        r"undefined|undeclared|not declared|no member|has no|does not name|is not a (?:member|template|type|class)|unknown type|no type named|namespace",
        "The name is not in the headers that the compiler reads: they are of another version than the code, or the header that declares it is not included.",
        "Compare the versions of the library, CUDA and torch with those that the project pins; nvcc -H prints which headers are read",
    ),
    _demand(
        r"cannot (?:be )?convert|no matching|no instance|no suitable|no viable|no operator|overload|too (?:few|many) arguments|incompatible",
        "A call's arguments fit no declaration: the function has other parameters in this version, or a type has no conversion here.",
        "Compare the call with the declaration in the headers at hand, and their version with the one that the project pins",
    ),
)  # fmt: skip

# What Python's own exceptions mean where no message tells more.
EXCEPTIONS = {
    "CalledProcessError": ("A program that the code starts ends with an error. What it printed stands above, and not in this exception.", "Read the lines above for that program's first error; start the command by hand. Triton and torch.compile start gcc: it must be installed, with Python's headers"),
    "UnboundLocalError": ("A variable is read that no statement has set on this path: it is assigned only in a branch, a loop or a try that did not run.", "Look at the function of that name for where the variable is set; in the library's code it is a fault of the library, and another option or version avoids it"),
    "NameError": ("A name is used that is not defined or imported there.", "Import or define it; in a library's code it is a fault of that version"),
    "KeyError": ("A dictionary has no entry of this key: a configuration, an architecture, a shape or a type that its table does not have.", "Print the keys of the table in that line; a newer version of the library may have the entry"),
    "IndexError": ("An index is beyond the end of a list, a tuple or a tensor.", "Print the length and the index before that line"),
    "ZeroDivisionError": ("A divisor is 0: a size, a count or a tile that came out empty.", "Print the operands before that line"),
    "NotImplementedError": ("The library has no code for this combination of arguments.", "Take another option or back end, or a newer version"),
    "RecursionError": ("A function calls itself without end.", "Look at the frames that repeat in the traceback"),
    "FileNotFoundError": ("A file, a folder or a program is not where the code looks for it.", "Look at the path in the message, and at the variables that set it (CUDA_HOME, PATH, cache folders)"),
    "PermissionError": ("This user may not read, write or run a file.", "Point caches and temporary folders to a folder of your own (XDG_CACHE_HOME, TMPDIR)"),
    "TimeoutError": ("A wait ends without what it waits for.", "Look at what the other side does: another process, a download, a kernel"),
    "AttributeError": ("The object does not have this member: it is None or of another kind, or the library is of another version than the code.", "Print the object's type before that line, and compare versions with the requirements"),
    "TypeError": ("A call has other arguments than the function takes, or an operation meets a type that it does not have.", "Compare the call with help(FUNCTION) of the installed version"),
    "ImportError": ("A module or a name of it cannot be imported: it is missing, of another version, or its own import fails.", "Import it alone, python -c 'import MODULE', and read the first error"),
    "OSError": ("The system refuses a file, a library or a device.", "The words behind it name what"),
    "JSONDecodeError": ("A file or an answer that should be JSON is empty or cut off.", "Look at the file; a cache that is written by several processes is deleted"),
    "AssertionError": ("A condition that the code relies on is false.", "Print both sides of the condition before that line"),
}  # fmt: skip


_DIVISOR = re.compile(r"(?:divisible by|multiples? of) (?P<number>[0-9]+)", re.IGNORECASE)
_MOST = re.compile(
    r"(?:at most|<=|no more than|up to|maximum(?: of| is)?|less than or equal to) ?(?P<number>[0-9]+)",
    re.IGNORECASE,
)
_GOT = re.compile(
    r"\b(?:got|found|received|given|actual|instead of|but|has|have|is)\b(?P<values>[^;]{1,120})$",
    re.IGNORECASE,
)
_COMPARED = re.compile(
    r"(?:\bassert |^)(?P<have>[0-9.]+(?:e[-+]?[0-9]+)?) ?<=? ?\(*(?:(?P<times>[0-9.]+) \* )?(?P<most>[0-9.]+(?:e[-+]?[0-9]+)?)"
)
_NO_ROUNDING = 100  # times what is allowed
_NUMBER = re.compile(r"(?<![\w.])[0-9]{1,9}(?![\w.])")


def broken(said: str) -> tuple[str, ...]:
    """Which of the values that a message prints are not what it asks for, as far as its own numbers tell."""
    got = _GOT.search(said)
    asked = said[: got.start()] if got else ""
    values = list(dict.fromkeys(int(one) for one in _NUMBER.findall(got["values"]))) if got else []
    told = [
        f"{value} is no multiple of {divisor}: the next is {-(-value // divisor) * divisor}"
        for divisor in dict.fromkeys(int(one["number"]) for one in _DIVISOR.finditer(asked))
        for value in values
        if divisor and value % divisor
    ]
    compared = _COMPARED.search(said)
    if compared and (allowed := float(compared["most"]) * float(compared["times"] or 1)) > 0:
        ratio = float(compared["have"]) / allowed
        if ratio > _NO_ROUNDING:
            told.append(
                f"{compared['have']} is {ratio:,.0f} times the {allowed:.2g} that is allowed: a wrong result, not rounding"
            )
    most = _MOST.search(asked)
    told += [
        f"{value} is more than {most['number']}" for value in values if most and value > int(most["number"])
    ]
    return tuple(told[:3])


DIFFERS = next(one for one in DEMANDS if one.cause.startswith("A test compares a result"))


def demand(said: str) -> Demand | None:
    """The kind of demand that the message makes; None where its words tell none."""
    return next((one for one in (INNER, *DEMANDS) if one.words.search(said)), None)


def of_lines(said: str, beside: list[str]) -> Demand | None:
    """The demand of a message; that of a line beside it, where that one's is more particular."""
    found = [one for one in map(demand, (said, *beside)) if one and said]
    return min(found, key=(INNER, *DEMANDS).index, default=None)


def compiled(said: str) -> Demand | None:
    """The kind of a C++ compiler's error; None where its words tell none."""
    return next((one for one in COMPILED if one.words.search(said)), None)
