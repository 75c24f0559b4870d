"""The layout algebra: integers, layouts, swizzles, their operations and their notation. No GPU word here."""
