"""The fixes: strategies that turn a copy and its findings into repaired copies, each checked again."""
