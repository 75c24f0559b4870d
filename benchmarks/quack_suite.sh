#!/bin/bash
# quack's own suite by `layoutcheck ci`, from end to end: bash benchmarks/quack_suite.sh OUT.json TERM TIMEOUT [PATHS]
#
# In a checkout of quack, without a GPU, with layoutcheck and quack's requirements installed. SIGTERM comes after
# TERM seconds, each program has TIMEOUT. quack knows installed functions by `site-packages` in the names of their
# files: a DSL that lies in another folder is taken for quack's own code, and refused in epilogues.
#
#     python -m benchmarks.ci_evidence 'Dao-AILab/quack@COMMIT (sm_90a)=OUT.json' \
#       --output docs/evidence/quack_suite.json --device '...'
set -u
export CUDA_VISIBLE_DEVICES=-1
python3 -c "import cutlass, torch, tvm_ffi; print(cutlass.__version__, torch.__version__)" || exit 3
begin=$(date +%s)
timeout -s TERM -k 40 "$2" python3 -m layoutcheck ci ${4:-quack tests} --yes --no-cache --arch sm_90a \
  --timeout "$3" --workers "$(nproc)" --fail-on none --format json --output "$1"
echo "status $? after $(($(date +%s) - begin)) s on $(nproc) cores"
