"""A CycloneDX list of the shipped components: the wheels of requirements/run.txt, and the packages of an
image.
"""
