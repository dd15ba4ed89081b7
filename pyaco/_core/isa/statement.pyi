MODIFIERS: dict[str, int]
