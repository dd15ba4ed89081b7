"""Mutated ACO IR text ends as a program or with an error that says what is wrong: see ``mutated_programs.py``."""

from mutated_programs import fuzz


def test_mutated_programs() -> None:
    findings = fuzz(400, 5)
    assert not findings.texts, findings.texts[0][1]
    assert findings.outcomes["program"] > 20 and findings.outcomes["input"] > 100 and findings.outcomes["new"] > 50
