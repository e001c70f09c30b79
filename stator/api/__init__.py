"""What users call: compile, explain, the cache of captures, contexts and decorators."""
