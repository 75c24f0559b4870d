"""quack's RMSNorm for two sizes: enough to see a planted bug."""

import torch
from quack.rmsnorm import rmsnorm_fwd

for columns in (1128, 4096):
    rows = torch.randn(512, columns, device="cuda", dtype=torch.bfloat16)
    rmsnorm_fwd(rows, torch.randn(columns, device="cuda", dtype=torch.float32))
