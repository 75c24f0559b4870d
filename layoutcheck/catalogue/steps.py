"""Where a compiler of kernels other than CuTe's stops: for which reason, in which of its steps, and what that means.

Such a text has its reason anywhere but at its end: the last exception only says that a pass failed. The reason is in the
words behind the statement that is shown, in the exception above, or in a line of MLIR's diagnostics, which stands before the traceback.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutcheck.catalogue import demands


class Stop(NamedTuple):
    """What a compiler `said`, `where` it was (" in the pass X of kernel Y", "" for nowhere), why (`cause`), what `help`s."""

    said: str
    where: str
    cause: str
    help: str


_END = r"(?= (?:Traceback|The above|During handling|File \"|note: |RuntimeError: Pass|LLVM ERROR|Aborted|Stack dump|PLEASE submit|#[0-9a-z]+ ?=|module|loc\(|%\w+ ?=|\"?tt\.func|\^|\S+\.(?:py|mlir):[0-9]+|\S*error: )|$)"
# In a text they stand in this order; of each the first tells, but of the statement's words the last.
_REASONS = (
    re.compile(rf"CompilationError: at [0-9]+:[0-9]+:.*\^ (?!Traceback|The above|During)(?P<said>\S.{{3,240}}?){_END}"),
    re.compile(
        r"(?:^|[ (])(?P<said>(?!\w*RuntimeError: Pass)[A-Z]\w*(?:Error|Exception): (?!at [0-9]+:)\S.{3,240}?) (?:The above exception was the direct|During handling)"
    ),
    re.compile(
        rf"\berror: (?!Failures have been|loc\(|failed to (?:run|compile)\b)(?P<said>\S.{{3,240}}?){_END}"
        rf"|LLVM ERROR: (?P<llvm>\S.{{3,160}}?){_END}|Assertion [`'](?P<condition>.{{3,300}}?)(?:' failed|$)"
        r"|(?P<unreachable>[^.:]{3,100}) UNREACHABLE executed|(?P<unsupported>[Uu]nsupported \w+ found when [\w ]{3,60})"
    ),
    re.compile(rf"[\w.]+(?:Error|Exception|OutOfResources): (?P<said>(?!at [0-9]+:)\S.{{3,240}}?){_END}"),
)  # fmt: skip
_PASS = re.compile(
    r"Pipeline failed while executing \[?`?(?P<name>[A-Za-z][\w-]*)`?(?:[^\[\]@]{0,60}@(?P<kernel>[\w$]+))?"
)
_STAGE = re.compile(r"\bmake_(?P<name>ttir|ttgir|llir|ptx|cubin|amdgcn|hsaco|linalg\w*|npubin|spv\w*)\b")
_STAGES = {
    "ttir": "which writes the kernel's Python as operations",
    "ttgir": "which gives each tensor its layout over the threads, and pipelines loops",
    "llir": "which places shared memory, chooses the MMA instructions and makes LLVM's operations",
    "ptx": "LLVM's back end",
    "cubin": "ptxas",
    "amdgcn": "LLVM's back end for AMD's GPUs",
    "hsaco": "the assembler of AMD's GPUs",
}
_HOLLOW = re.compile(r"PassManager::run failed|^at [0-9]+:[0-9]+:|^MLIRCompilationError")


def _meaning(words: str, cause: str, helps: str) -> demands.Demand:
    return demands.Demand(re.compile(words), cause, helps)


_MEANINGS = (
    _meaning(
        r"(?i)compute ?capability",
        "This release of the compiler does not know the GPU that it compiles for: the GPU is newer, or older, than what it was made for. No tile and no type is at fault.",
        "Take the Triton (with the torch that brings it) that lists this GPU, and empty its cache; the newest GPUs need the newest release",
    ),
    _meaning(
        r"active drivers|find (?:a )?C compiler|cuda_utils|-lcuda\b|libcuda\.so",
        "Before the first kernel Triton looks for a driver and compiles a small launcher with the machine's C compiler. '0 active drivers' is a torch without CUDA, or a process that sees no GPU; the launcher needs gcc, Python's headers and libcuda.so.",
        "Print torch.cuda.is_available(), install gcc and the headers (python3-dev) or name one by CC, let libcuda.so be found (TRITON_LIBCUDA_PATH), and delete ~/.triton/cache",
    ),
    _meaning(
        r"PassManager::run failed|^MLIRCompilationError|^Return code [0-9]+",
        "The exception only says that a step failed. Its reason is printed before the traceback, to the error stream: lines with 'error:' and 'note:', which this text does not have.",
        "Paste those lines; `MLIR_ENABLE_DUMP=1` (Triton) prints the program before each pass. Other block sizes, num_stages=1 or another num_warps show whether one of them is at fault",
    ),
    _meaning(
        r"cpu tensor\?|cannot be accessed from Triton",
        "A tensor lies in the host's memory, where a kernel does not reach: it was not moved to the GPU, or its device is another than the kernel's.",
        "Print tensor.device of every argument, move them, tensor.to('cuda'), and set the device (torch.cuda.set_device) where there are several",
    ),
    _meaning(
        r"(?i)predicate|pipelin",
        "The loop is pipelined (num_stages): its loads run ahead, and each operation of it must be moved or given a predicate. This step has no way for this operation.",
        "num_stages=1 for this loop (tl.range(..., num_stages=1)), or move the operation in front of the loop; a newer release may have it",
    ),
    _meaning(
        r"M >= [0-9]+|N >= [0-9]+|K >= [0-9]+|non-matrix|minimum (?:dot|MMA)",
        "tl.dot runs on the tensor cores, whose instructions have a least M, N and K (16 each; K 32 for 8-bit types).",
        "Take BLOCK_M, BLOCK_N and BLOCK_K of at least that, and pad or mask the rest; for a vector multiply and tl.sum",
    ),
    _meaning(
        r"\bk[MN]PerWarp|\b[MNK] (?:must|should|has to) be (?:divisible|a multiple)",
        "A product of two tiles (T.gemm, tl.dot) runs on MMA instructions, of which each warp takes whole ones: M in steps of 16, N of 8, K by the type.",
        "Make the block of that mode such a multiple for each warp, or let fewer warps share it; pad a problem that is smaller",
    ),
    _meaning(
        r"(?i)unsupported \w*dot\w*|fp8e\w+|float8|(?:data type|dtype|type \w+) not supported|not supported (?:in this|on this|for this) (?:arch|target|gpu)|mma\w* (?:data type )?(?:is )?(?:not supported|unsupported)",
        "The GPU that is compiled for has no instruction of these types and shape: fp8e4nv (E4M3) and its conversions begin with sm_89, bf16 with sm_80; older ones have fp8e5 and fp8e4b15.",
        "Convert the operands before (x.to(tl.float16)), take a model or an option that is not FP8, or a GPU that has the type",
    ),
    _meaning(
        r"power of (?:2|two)",
        "The extents of a block (tl.arange, tl.zeros, block shapes) are powers of 2.",
        "triton.next_power_of_2(n) for the block, and mask= for what is beyond n",
    ),
    _meaning(
        r"(?i)loop.carried|re-assigned|initial type|then block|else block|mismatched type",
        "A variable that a loop or a branch changes must have one type and shape before it and behind it.",
        "Give it that type where it begins (tl.zeros(..., dtype=tl.float32)), or convert at the end of the body: x.to(acc.dtype)",
    ),
    _meaning(
        r"(?i)incompatible dimensions|make_shape_compatible|broadcast|shape mismatch|reshape|same shape",
        "Two blocks of one operation have extents that are neither equal nor 1.",
        "Add the missing mode, x[:, None], and compare the BLOCK sizes of both sides",
    ),
    _meaning(
        r"global variable",
        "A kernel is compiled once: it reads no global of the module that may change.",
        "Pass it as an argument, or declare it NAME: tl.constexpr = ...",
    ),
    _meaning(
        r"(?i)pointer argument|ptr type|expected? (?:a )?pointer|block.?pointer",
        "Pointer, mask and value of a load or store must be of one shape: a block of pointers (ptr + offsets) for a block of values.",
        "Write tl.load(ptr + offsets, mask=mask) with offsets of the block's shape; a tensor of torch is passed by the host, not made in the kernel",
    ),
    _meaning(
        r"(?i)constexpr|compile.?time constant",
        "A shape, a type, a dimension or a branch is decided while compiling, and the value is known at run time only; or the other way round.",
        "Declare the parameter NAME: tl.constexpr, and pass plain Python numbers",
    ),
    _meaning(
        r"NoneType",
        "An argument is None, and the kernel uses it as a tensor. Triton compiles the branch out only where the test is known while compiling.",
        "Pass the tensor, or guard the use by a tl.constexpr flag (if HAS_BIAS:)",
    ),
    _meaning(
        r"(?i)unsupported AST|UnsupportedLanguage|has no attribute|is not defined|unexpected keyword|no member",
        "The kernel uses what this release of the compiler does not have: a statement of Python that it does not compile, or a function of another release.",
        "Compare the release (pip show triton) with the one that the kernel was written for; write the statement as loops, tl.where and calls",
    ),
    _meaning(
        r"(?i)allocate (?:in|out)put (?:reg\w*)|constraint '|inline.?asm",
        "Inline assembly is of one maker's GPUs: its instructions and constraints ('=r' of PTX, '=v' of AMD) do not exist on the other.",
        "Leave the inline assembly out on this GPU (a branch on the back end), or write it for this one; report it to whose kernel it is",
    ),
    _meaning(
        r"(?i)\bub overflow|uni_sram|out of resource|memory.{0,30}(?:exceed|overflow)|exceeds? .{0,30}memory",
        "The blocks that the kernel keeps on the chip do not fit the memory of this processor.",
        "Take smaller blocks, fewer stages or a split of the loop; the numbers of the message say by how much",
    ),
    _meaning(
        r"no available layout found|LayoutConflict|[Ll]ayout infer conflict|[Gg]et different layout",
        "TileLang chooses how the threads hold each fragment, and finds no way for this one: its extent is no multiple of the threads (192 or 229 elements for 128 threads, tile-ai/tilelang#2398), or two operations want it differently.",
        "Make the extents of T.Parallel and of the fragments multiples of the threads, or give the layout by T.annotate_layout",
    ),
    _meaning(
        r"(?i)encoding|\blayouts?\b",
        "Two operations hold a tensor in different layouts over the threads (Triton's encodings), and this step does not bring them together. The compiler chooses them by itself: no layout of the program is at fault.",
        "Take the release that the kernel was written for, or a newer one; other BLOCK sizes or num_warps avoid it at times",
    ),
    demands.INNER._replace(
        words=re.compile(
            r"(?i)legalize|marked illegal|scheduled before|does not dominate|unexpected|expected (?:attr|op)|does not have|map::at|isa<|cast<|(?-i:\b(?:idx|size|num\w*|rank|get\w*|is[A-Z]\w*)\()|&&|\|\||UNREACHABLE|unimplemented|\bfatal\b"
        )
    ),
)  # fmt: skip


def find(folded: str, said: str = "") -> Stop:
    """Why a compiler stops; `said` is what is known of it, where the text has no better words."""
    matches = (pattern.search(folded) for pattern in _REASONS)
    found = (next(filter(None, match.groups())).strip() for match in matches if match)
    told = [one for one in (*found, said) if one]
    reason = next((one for one in told if not _HOLLOW.search(one)), told[0] if told else "")
    told_by = meaning(reason) or demands.INNER
    return Stop(reason, _where(folded), told_by.cause, told_by.helps)


def meaning(said: str) -> demands.Demand | None:
    """What the words of such a compiler mean; None where they tell nothing."""
    return next((one for one in _MEANINGS if one.words.search(said)), None) or demands.demand(said)


def _where(folded: str) -> str:
    """In which pass, stage and kernel it stops, as far as the text says."""
    step, stages = _PASS.search(folded), list(_STAGE.finditer(folded))
    stage = stages[-1] if stages else None
    told = f" in the pass {step['name']}" if step else f" in {stage[0]}" if stage else ""
    known = _STAGES.get(stage["name"]) if stage else None
    kernel = f" of the kernel {step['kernel']}" if step and step["kernel"] else ""
    return f"{told}{kernel}" + (f" ({stage['name']}: {known})" if stage and known else "")
