"""Checks certificates of counterfactual explanations."""
