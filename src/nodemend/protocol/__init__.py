"""Pure: the self-fencing protocol that agents and the remediator share."""
