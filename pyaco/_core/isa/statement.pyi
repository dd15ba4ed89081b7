FUNCTIONS: dict[str, int]
MODIFIERS: dict[str, int]
