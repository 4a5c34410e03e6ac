"""`python -m words`: banned constructions of English, and names that the glossary replaces.

Fails while there is one of either, or an exception that covers nothing. `--by-package` prints counts; PATHS
limit the search to files whose path begins with one of them.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

from words.banned import find_banned, read_list
from words.findings import ROOT, Allowed, Finding, package_of
from words.glossary import find_old_names, read_glossary


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", help="only files whose path begins with one of these")
    parser.add_argument("--by-package", action="store_true", help="a table of counts instead of findings")
    options = parser.parse_args()
    words, glossary = read_list(), read_glossary()
    prefixes = tuple(options.paths) or ("",)
    banned, names = find_banned(ROOT, words, prefixes), find_old_names(ROOT, glossary, prefixes)
    constructions, identifiers = banned.findings, names.findings
    # An exception may cover a file that was not searched.
    stale = (
        [] if options.paths else [*_stale(words.allowed, banned.used), *_stale(glossary.allowed, names.used)]
    )
    if options.by_package:
        print(table(constructions, identifiers))
    else:
        for finding in sorted((*constructions, *identifiers), key=lambda one: (one.path, one.line, one.id)):
            print(finding)
    for one in stale:
        print(f"an exception covers nothing: {one.path}: {one.text}")
    print(f"words: {len(constructions)} banned constructions, {len(identifiers)} glossary identifiers left")
    return 1 if constructions or identifiers or stale else 0


def table(constructions: Sequence[Finding], identifiers: Sequence[Finding]) -> str:
    """Counts by package and by id, the largest first."""
    prose = Counter(package_of(one.path) for one in constructions)
    names = Counter(package_of(one.path) for one in identifiers)
    lines = [f"{'package':<60} {'banned':>7} {'names':>7}"]
    for package, _ in (prose + names).most_common():
        lines.append(f"{package:<60} {prose[package]:>7} {names[package]:>7}")
    lines += ["", f"{'id':<60} {'count':>7}"]
    ids = Counter(one.id for one in (*constructions, *identifiers))
    lines += [f"{id_:<60} {count:>7}" for id_, count in ids.most_common()]
    return "\n".join(lines)


def _stale(allowed: Iterable[Allowed], used: set[Allowed]) -> list[Allowed]:
    return [one for one in allowed if one not in used]


if __name__ == "__main__":
    sys.exit(main())
