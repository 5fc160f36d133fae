"""Polyonym turns a corpus of documents into a knowledge graph in which one real-world thing is one node."""
