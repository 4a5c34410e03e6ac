"""The files of src that lie on the path of one failure, measured in the simulated world."""
