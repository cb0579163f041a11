"""Questions: target, distance and criteria; and the query about one factual."""
