"""Yamamoto and Shibuya, Privacy-Optimized Randomized Response for Sharing Multi-Attribute Data (2024).

Figures 1 to 5 and Table I, with the exact optimum beside the published methods, also where the paper has none.
"""
