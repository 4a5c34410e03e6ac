"""Gather, decide, act: one package a controller."""
