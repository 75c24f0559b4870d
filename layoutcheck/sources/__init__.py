"""Where copies come from: printed types, pasted compiler errors, named cases."""
