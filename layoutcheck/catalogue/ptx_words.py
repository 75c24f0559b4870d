"""What a message of ptxas says where no entry is about it: the kind of its words, with what stands wrong in the PTX.

ptxas has some 400 messages about PTX. Each names an instruction, a modifier or an operand; they fall into the kinds below (PTX ISA:
instruction operands, state spaces, types, directives).
"""

from __future__ import annotations

from layoutcheck.catalogue.literals import Words
from layoutcheck.catalogue.meanings import Meaning, first


def _kind(words: str, cause: str, helps: str) -> Meaning:
    return Meaning(Words(words), cause, helps)


_VERSIONS = "Match them: take the ptxas of the compiler's own toolkit (TRITON_PTXAS_PATH, CUDA_HOME, PATH), or a newer one"
_ASSEMBLY = "In inline assembly compare the line with the PTX ISA's syntax for it; where a compiler wrote it, take another release of it and report it there"
# In order: the first whose words are in the message is its kind.
KINDS = (
    _kind(r"non-ASCII|not a PTX file|Not a valid PTX", "What ptxas is given is no text of PTX: a binary (a cubin in its place), an empty or cut-off file, or a path or name with letters beyond ASCII that the compiler wrote into it.", "Look at the first line of the file (`head -c 80 FILE`), empty the cache that it lies in, and keep names and paths in ASCII; the compiler that wrote it takes the report"),
    _kind(r"Parsing error|syntax error", "The text of the PTX is malformed there: inline assembly misses a `;`, a brace or a comma, or the compiler rewrote it (asm_dialect: PTX has none, and { } and | are alternatives in another's), or what stands there is of another instruction.",
          "Print the line of the PTX (CUTE_DSL_KEEP=ptx, nvcc --keep) beside the string of the source. " + _ASSEMBLY),
    _kind(r"32-bit compilation", "The PTX or the option -m32 asks for addresses of 32 bits, which CUDA 12 has dropped.", "Build for 64 bits (-m64, .address_size 64); a library that ships such PTX needs a newer release"),
    _kind(r"memory allocation|out of memory", "ptxas itself runs out of the host's memory, or is an old 32-bit program.", "Build with fewer jobs, or a smaller kernel (less unrolling); take a newer toolkit"),
    _kind(r"higher than default SM", "ptxas was started without an architecture, and takes its oldest one; the PTX is for a newer one.", "Give it the architecture of the .target line: ptxas -arch=sm_90 FILE.ptx"),
    _kind(r"threads per SM|minnctapersm|maxntid|reqntid", "__launch_bounds__(threads, blocks) asks for more threads than an SM of this target holds (threads x blocks: 1,024 on sm_75, 1,536 on sm_86, sm_89 and sm_120, 2,048 on sm_80, sm_90 and sm_100): the kernel was tuned for another architecture. ptxas goes on without the bound; where it ends, another message says why.",
          "Lower the blocks (or threads) of the bound for this target, or take a release of the project that knows it; an error beside it is the one to read"),
    _kind(r"Barrier number", "A block has 16 named barriers, 0 to 15, and 0 is __syncthreads.", "Number the barriers of a kernel below 16; CUTLASS reserves the first ones for itself"),
    _kind(r"cannot be linked|Cannot link|must be compiled with|Weak non-exported|Exported function|Common symbol|in file|first defined in|first specified in",
          "Two objects with device code do not go together: one was compiled by another toolkit, for another architecture, or declares a name otherwise.",
          "Compile all objects with one nvcc, anew from an empty folder; objects with tcgen05 of CUDA 12 are not linked by 13"),
    _kind(r"PTX ISA \.?version|\.version\b|as of PTX|current version is",
          "The PTX states its version in the first line, and ptxas takes versions up to its own; an instruction exists from one version on, or up to one.", _VERSIONS),
    _kind(r"requires \.target|Unsupported \.target|Conflicting \.target|\.target directive|SM-family|future architecture|cannot be compiled (?:for|to)|not supported starting|on arch\b|target architecture|not yet implemented|arch <|on sm_",
          "The instruction or its form belongs to another target than the one that is compiled for.",
          "Name the GPU's own architecture with its suffix (sm_90a, sm_100a, sm_120a), or take the form that this target has"),
    _kind(r"initial(?:izer| value)|Constant expression", "A variable's initial value has another type than the variable, is no constant, or stands where none is allowed.", _ASSEMBLY),
    _kind(r"\balias", "A name is declared to stand for another function, of another prototype or kind.", _ASSEMBLY),
    _kind(r"\btexture|\bsurface|\bsampler|texref|surfref|texmode|coordinates require|Geometry", "A texture or surface instruction gets another reference, geometry or coordinate type than it takes.", _ASSEMBLY),
    _kind(r"Duplicate definition|redefinition|Inconsistent prototype|conflicts with|Mismatch between declaration|differ\b",
          "A name is defined twice, or differently. Inline assembly that declares a register or a label is copied wherever its function is inlined or a loop unrolled.",
          "Put the assembly between braces, { ... }, so that its names are local, or let %= make labels unique; two functions of one name need other names"),
    _kind(r"stack size|stack frame|bytes stack|recursive|cannot be statically determined", "The kernel calls itself, or by a pointer, so that ptxas cannot tell its stack; or a thread keeps arrays in local memory.",
          "It is a remark unless the run overflows the stack: cudaDeviceSetLimit(cudaLimitStackSize, ...). Unroll recursion, and index arrays with constants"),
    _kind(r"\bpragma|command line option|default cache modifier|cache preference|ignoring|ignored",
          "An option or a .pragma is not one that this target or function takes; ptxas leaves it out and goes on.", "It does no harm to the result; leave the option out, or give it where it belongs"),
    _kind(r"regcount|register count|register limit|more registers|maximum of [0-9]+ registers|max reg|lower bound of|Register spills|constant register|compiler-generated constants|live ranges",
          "The function and what it calls need more registers or constants than the limit leaves: -maxrregcount, .maxnreg, __launch_bounds__ or setmaxnreg.",
          "Raise the limit or take fewer threads or a smaller tile; `layoutcheck resources` counts what a tile needs"),
    _kind(r"state space|\.(?:global|shared|param|const|local|reg)\b[^,]{0,20} (?:space|array)|\bspace\b|Non-generic|Domain param|incomplete type|\bscope\b|module scope",
          "An address or a variable is of another state space than the instruction takes: .shared, .shared::cta, .shared::cluster, .global, .param or generic; .shared::cta as the destination of cp.async.bulk begins with PTX 8.6.",
          "Convert a generic address with cvta.to (cute.arch or __cvta_generic_to_shared for shared memory), and take the instruction of that space. " + _ASSEMBLY),
    _kind(r"\bcall\b|prototype|formal parameter|function parameter|return (?:parameter|address|value)|entry parameter|caller|callee|\bABI\b|scratch|allocno|Parameter|function calls|device function",
          "A device function is called with other parameters than it declares, or in a way that its calling convention does not have.", _ASSEMBLY),
    _kind(r"vector|number of bits set in mask|\bsubops\b",
          "The registers in braces do not fit the vector: an MMA, ldmatrix or wgmma takes as many as its shape has for each thread, a load or store at most 128 bits (256 on sm_100).",
          "Count the registers of the shape and type (PTX ISA, matrix fragments); `layoutcheck explain SRC DST --atom ATOM` says how many values one instruction moves"),
    _kind(r"number of (?:\S+ )?(?:arguments|operands|operations|instruction types|\S+ modifiers)|matrix shape|subop number|Shape\b|Too (?:many|few) (?:operands|arguments)|source operands|input operands|expected for '|arguments specified|require[sd]? for instruction .* with [0-9]+ arguments|operand must",
          "The instruction has another number of operands, types or modifiers, or another shape, than this form takes.", _ASSEMBLY),
    _kind(r"out of range|unexpected value|expected to be|must be (?:constant|an? immediate)|value must be|must be [0-9]+-bit|value of mask|non-zero|power of two|Alignment|alignment|value '[^']*' must|immediate|between 0 and",
          "An operand that is part of the instruction has a value that it does not take: such numbers are known when the PTX is written, and are in a range or a multiple.",
          "Give a constant in the range that the message names: barrier ids 0 to 15, setmaxnreg 24 to 256 in steps of 8, cp.async 4, 8 or 16 bytes, shuffles' lanes 0 to 31"),
    _kind(r"mismatch for instruction|\btypes?\b|integer|numeric|signed|\.dtype|\.pred\b",
          "The type in the instruction's name and the type or width of an operand differ, or the instruction does not have this type on the target (no arithmetic of 8 bits, FP8 conversions from sm_89, FP4 from sm_100a). Where a compiler wrote it, it and the ptxas that it calls may be of different versions, as packages of nvidia-cutlass-dsl that are mixed (NVIDIA/cutlass#3170).",
          "In inline assembly the constraint gives the register's type: \"h\" 16 bits, \"r\" 32 bits, \"l\" 64 bits, \"f\" float, \"d\" double; f16 and bf16 pairs travel as \"r\". " + _ASSEMBLY),
    _kind(r"modifier|qualifier|selector|reduction operation|secondary operation|combination|combined|Exactly one of|cannot both|\.(?:sat|cc|ftz|relu|nc|volatile|sync)\b|specified multiple|requires '|scope|semantics|Sink|discard|predicate|level required|operation (?:is )?(?:required|expected)|Comparison",
          "The parts of the instruction's name do not go together: one is missing, stands twice, or excludes another.",
          "Compare the name with the syntax in the PTX ISA, part by part and in its order. " + _ASSEMBLY),
    _kind(r"Not a name of any known|Unknown|Unrecognized|not declared|not found|undefined|unresolved label|Unsupported (?:instruction|function|modifier)|unsupported",
          "A name stands in the PTX that this ptxas does not have: an instruction of a newer PTX version, an intrinsic or a function that the compiler left, or a slip in inline assembly.", _VERSIONS + ". " + _ASSEMBLY),
    _kind(r"Illegal target|Duplicate (?:file|metadata)|cannot be allocated|block\b|bank number|Addressing Mode|syntax expected|result register|must be register|register or constant|Address expected|expected for argument|label expected|Label|symbol expected|special register|operand|argument|destination|attribute|directive",
          "An operand, an instruction or a directive is of another kind than this place takes: a register, an address in brackets, a constant, a label, a block.", _ASSEMBLY),
    _kind(r"uninitialized|out of bound", "A register is read, or memory reached, that nothing on the path has set: undefined values go into the result.", "Look for the variable that one branch does not set"),
    _kind(r"GMMA|UTC\w*MMA|TC(?:MMA|ATOMSWS|READ|WRITE)|OMMA|MmaReadShm|S2R|intrinsic|uniform register|coroutine|tcmma",
          "A late step of ptxas meets an instruction of the tensor cores that it cannot encode so: the message is about its own form of it.",
          "Take another release of the toolkit, and report it to NVIDIA with the PTX"),
)  # fmt: skip
OTHER = (
    "ptxas does not accept the PTX that the compiler or inline assembly wrote.",
    "Look the instruction up in the PTX ISA for this target",
)


def meaning(said: str) -> tuple[str, str]:
    """(why ptxas prints it, what helps)."""
    found = first(KINDS, said)
    return (found.cause, found.helps) if found else OTHER
