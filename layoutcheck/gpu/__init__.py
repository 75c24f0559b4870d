"""The real device: running copies and comparing what the machine did."""
