"""Letters: an answer's facts put into words of a language, laid out by a template."""
