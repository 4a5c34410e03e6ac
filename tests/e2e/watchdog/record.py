"""The observations of one run: the guest's output on its own clock, and the end that QEMU reports."""

from dataclasses import dataclass, field

from guest.qemu import Happened, Line

_NANO = 1e-9


@dataclass
class Record:
    """Times are seconds of the guest's clock."""

    warped: bool
    beats: list[tuple[float, dict[str, str]]] = field(default_factory=list)
    armed: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    fault: float | None = None
    close: float | None = None
    resumed: float | None = None
    over: bool = False
    by_the_device: bool = False
    rss_kilobytes: int = 0
    reset: float | None = None
    """The latest possible time of the machine's reset."""
    _behind: float = float("inf")
    """The host's clock less the guest's, from the line with the shortest delay."""

    def hear(self, line: Line) -> str:
        """Record a line, and return its keyword."""
        word, _, rest = line.text.partition(" ")
        at, _, rest = rest.partition(" ")
        if word not in ("BEAT", "ARMED", "FAULT", "CLOSE", "RSS", "OVER", "PAUSE", "FREEZE", "SAID"):
            self.lines.append(line.text)
            return ""
        now = float(at)
        self._behind = min(self._behind, line.at - now)
        facts = dict(fact.partition("=")[::2] for fact in rest.split())
        match word:
            case "BEAT":
                self.beats.append((now, facts))
            case "ARMED":
                self.armed = facts
            case "RSS":
                self.rss_kilobytes = int(rest)
            case "FAULT":
                self.fault = now
            case "CLOSE":
                self.close = now
            case "OVER":
                self.over = True
            case _:
                pass
        if word != "BEAT":
            self.lines.append(line.text)
        return word

    def end(self, happened: Happened, beat: float) -> None:
        """Record an event of QEMU's."""
        if happened.name == "WATCHDOG":
            self.by_the_device = True
        if happened.name == "SHUTDOWN":
            # In warped time only the guest knows the time: the next beat would have reported a later one.
            last = self.beats[-1][0] if self.beats else 0.0
            self.reset = last + beat if self.warped else happened.at - self._behind

    @property
    def effective(self) -> float:
        return int(self.armed["effective"]) * _NANO

    @property
    def written(self) -> float:
        return float(self.armed["written-seconds"])

    def last(self, name: str) -> float | None:
        """The newest value under this name that the feeder reported."""
        reported = (
            facts[name] for _, facts in reversed(self.beats) if facts.get(name, "-") not in ("-", "0")
        )
        return next((int(value) * _NANO for value in reported), None)
