"""Draws the packages of src/ and their imports, and checks that imports only go down."""
