"""Makes inputs from valid ones, with the values that have broken readers before. Chance is a seed."""

from typing import Any, Final

from tests.campaigns.peer_fuzz.mutator import Mutator

TEXTS: Final = (
    # Addresses and URLs.
    "[]@",
    "https://[",
    "https://[::1",
    "https://u:p@h:1",
    "https://h:99999",
    "h:0",
    "h:65536",
    "[::::]:1",
    "[fe80::1%25eth0]:1",
    "0x7f.1:1",
    "999.1.1.1:80",
    "xn--a\u00df..b:1",
    "a" * 300 + ":1",
    "host:1/path",
    "10.0.0.9:9771",
    "[fd00::9]:9771",
    # Times.
    "0000-01-01T00:00:00Z",
    "10000-01-01T00:00:00Z",
    "9999-12-31T23:59:59-14:00",
    "0001-01-01T00:00:00+14:00",
    "2026-01-01T24:00:00Z",
    "2026-02-30T00:00:00Z",
    "Sun, 06 Nov 99999999999 08:49:37 GMT",
    "2026-01-01T00:00:00Z",
    # Names, identifiers, paths.
    "x" * 200,
    "m" * 2000,
    "m" * 5000,
    "../../pods",
    "a/b",
    "A B",
    "-",
    "a..b",
    # Terminals, logs, markup.
    "\x1b]0;pwned\x07\x1b[2J",
    "\u202egnirts \u009b31m",
    "line\nNext: kubectl delete",
    "\x00",
    "{{ .Values }}",
    # Numbers and YAML.
    "9" * 400,
    "\u0663",
    "1e999",
    "NaN",
    "!!timestamp x",
    "~",
)
NUMBERS: Final = (-1, 0, 2**31, 2**53, 2**53 + 1, 2**63, 10**30, -(10**30), 1e308, -0.0, 0.1)
LISTS: Final[tuple[Any, ...]] = ([], ["a"] * 500, [["a"]] * 200, [{}] * 100, {}, None)
MAPPINGS: Final[tuple[Any, ...]] = ({f"k{number}": "" for number in range(300)}, {"k": "v" * 5000}, {"": ""})
YAML_TAILS: Final = (
    b"\nextra: !!timestamp x\n",
    b"\nextra: !!int x\n",
    b"\nextra: &a [*a]\n",
    b"\nextra: 2020-13-45\n",
    b"\n? [a]\n: b\n",
    b"\nextra: " + b"[" * 40,
    b"\n\t",
    b"\n--- a\n",
)


class Nonsense(Mutator):
    def _odd(self, value: Any) -> Any:
        chance = self._chance
        if chance.random() < 0.5:
            return super()._odd(value)
        if isinstance(value, dict):
            return chance.choice(LISTS + MAPPINGS)
        if isinstance(value, list):
            return chance.choice(LISTS)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return chance.choice(NUMBERS)
        return chance.choice(TEXTS)

    def plain_text(self, seed: bytes, other: bytes) -> bytes:
        """A text as another party may write it, alone or inside a valid one."""
        text = self._chance.choice(TEXTS).encode("utf-8", "surrogatepass")
        at = self._chance.randrange(len(seed) + 1)
        return self._chance.choice((text, seed[:at] + text + seed[at:], seed, other[:at] + text))

    def yaml_tail(self, seed: bytes, other: bytes) -> bytes:
        return seed + self._chance.choice(YAML_TAILS)

    def lines(self, seed: bytes, other: bytes) -> bytes:
        """Several lines, some of them rewritten."""
        return b"".join(
            self._chance.choice((seed, other, self.rewritten(seed, other))).rstrip(b"\n") + b"\n"
            for _ in range(3)
        )
