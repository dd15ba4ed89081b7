FUNCTIONS: dict[str, int]
MODIFIERS: dict[str, int]
MODIFIERS_12_5: dict[str, int]
MODIFIERS_13: dict[str, int]
