"""What a boot that is not fed any more leaves behind on disk, for the boots that come after it."""
