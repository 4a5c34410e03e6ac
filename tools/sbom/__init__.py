"""A CycloneDX list of what we ship: the wheels of requirements/run.txt, and the packages of an image."""
