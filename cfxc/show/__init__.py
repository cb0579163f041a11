"""What is only looked at: formulae and mixed-integer programs as text."""
