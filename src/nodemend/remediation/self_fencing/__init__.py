"""SelfRemediation: the node resets itself by its watchdog."""
