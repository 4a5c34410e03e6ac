"""Makes the root folder of our image without a container engine: Debian packages, our wheel and its wheels.

`python -m image_root ROOT` builds it, `python -m image_root ROOT -- COMMAND...` runs a command in it.
"""
