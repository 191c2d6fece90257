"""Trains the feature-print network that Lookalike ships."""
