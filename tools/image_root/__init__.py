"""Makes the root folder of the image without a container engine: Debian packages, Nodemend and its wheels.

`python -m image_root ROOT` builds it, `python -m image_root ROOT -- COMMAND...` runs a command in it.
"""
