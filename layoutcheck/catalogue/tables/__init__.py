"""The entries, by who prints the error. Where two begin at one place of a text, the table that stands first answers."""

from __future__ import annotations

from layoutcheck.catalogue.entry import Known
from layoutcheck.catalogue.tables import (
    arguments,
    builds,
    calls,
    clean,
    compiler,
    configure,
    control_flow,
    cpp_copies,
    cpp_headers,
    cpp_kernels,
    cpp_templates,
    cpp_tensors,
    cuda_codes,
    cuda_libraries,
    driver,
    elsewhere,
    host_calls,
    installation,
    instructions,
    layouts,
    linking,
    machine_setup,
    operations,
    packages,
    profilers,
    ptxas,
    sanitizers,
    symptoms,
    topics,
    values,
)

CALLS: tuple[Known, ...] = calls.ENTRIES  # Python's own errors about the DSL
DSL: tuple[Known, ...] = (
    *installation.ENTRIES,
    *instructions.ENTRIES,
    *operations.ENTRIES,
    *layouts.ENTRIES,
    *arguments.ENTRIES,
    *host_calls.ENTRIES,
    *values.ENTRIES,
    *control_flow.ENTRIES,
    *compiler.ENTRIES,
)
CPP: tuple[Known, ...] = (
    *cpp_copies.ENTRIES,
    *cpp_tensors.ENTRIES,
    *cpp_kernels.ENTRIES,
    *cpp_headers.ENTRIES,
    *cpp_templates.ENTRIES,
)
MACHINE: tuple[Known, ...] = (
    *driver.ENTRIES,
    *cuda_codes.ENTRIES,
    *ptxas.ENTRIES,
    *sanitizers.ENTRIES,
    *profilers.ENTRIES,
)
ELSEWHERE: tuple[Known, ...] = (
    *linking.ENTRIES,
    *elsewhere.ENTRIES,
    *cuda_libraries.ENTRIES,
    *machine_setup.ENTRIES,
    *configure.ENTRIES,
    *packages.ENTRIES,
    *builds.ENTRIES,
)

NOTHING_WRONG: tuple[Known, ...] = clean.ENTRIES
SYMPTOMS: tuple[Known, ...] = symptoms.ENTRIES  # looked for where none of ENTRIES answers
TOPICS: tuple[Known, ...] = topics.ENTRIES  # of texts without an error

ENTRIES: tuple[Known, ...] = (*CALLS, *DSL, *CPP, *MACHINE, *ELSEWHERE, *NOTHING_WRONG)


def called(name: str) -> Known:
    """The entry of this name, which code refers to. Raises StopIteration where there is none."""
    return next(entry for entry in (*ENTRIES, *SYMPTOMS, *TOPICS) if entry.name == name)
