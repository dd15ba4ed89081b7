"""Mutated ACO IR text ends as a program or with an error that says what is wrong: see ``mutated_programs.py``."""

import pytest
from mutated_programs import BUILD, fuzz


def test_mutated_programs() -> None:
    findings = fuzz(400, 5)
    assert not findings.texts, findings.texts[0][1]
    assert findings.outcomes["program"] > 20 and findings.outcomes["input"] > 100 and findings.outcomes["new"] > 50


@pytest.mark.skipif(not BUILD, reason="PYACO_EDGE_COVERAGE names no build that counts the ways between basic blocks")
def test_edges_are_counted() -> None:
    few, many = fuzz(1, 5), fuzz(200, 5)
    assert 1000 < few.outcomes["edges"] < many.outcomes["edges"]
