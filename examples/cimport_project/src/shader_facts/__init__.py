"""What code, NIR and ACO IR consist of, read by kernels that call those of pyaco."""

from shader_facts.kernels import CodeFacts, code_facts, count_arithmetic, peak_demand

__all__ = ["CodeFacts", "code_facts", "count_arithmetic", "peak_demand"]
