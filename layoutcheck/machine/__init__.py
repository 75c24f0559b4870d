"""Facts about GPUs, each with its source: data types, architectures, atoms, banks and sectors."""
