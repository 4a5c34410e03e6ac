"""Generates sequences of steps from a seed, without knowledge of the servers' answers."""

from collections.abc import Callable
from random import Random
from typing import Any, Final

from nodemend.kube.request import Content
from tests.simulation.differential.json_patches import json_patches
from tests.simulation.differential.our_samples import CHECKS, ORDERS, POLICIES, REMEDIATIONS, TEMPLATES
from tests.simulation.differential.power_samples import POWER_REMEDIATIONS, POWER_TEMPLATES
from tests.simulation.differential.samples import (
    ATTACHMENTS,
    EVENTS,
    LEASES,
    NODES,
    PODS,
    Document,
    Sample,
    metadata_change,
    without_nulls,
)
from tests.simulation.differential.self_samples import SELF_REMEDIATIONS
from tests.simulation.differential.steps import Step, as_dry_run
from tests.simulation.differential.widgets import WIDGETS

NAMESPACES: Final = ("diff-a", "diff-b")
MANAGERS: Final = ("alpha", "beta", "gamma")
STRANGERS: Final = ("reader", "nobody", "remediator", "checker")
SELECTORS: Final[tuple[tuple[str, Document], ...]] = (
    ("app=a", {"app": "a"}),
    ("app==a,tier!=x", {"app": "a"}),
    ("app in (a,b)", {"app": "b"}),
    ("app notin (b)", {}),
    ("tier", {"tier": "x"}),
    ("!tier", {}),
)
LONG: Final = "3600"


KINDS: Final = (
    *(NODES, NODES, LEASES, LEASES, PODS, PODS, ATTACHMENTS, EVENTS, WIDGETS, WIDGETS),
    *(REMEDIATIONS, REMEDIATIONS, REMEDIATIONS, POLICIES, CHECKS, TEMPLATES, ORDERS),
    *(POWER_REMEDIATIONS, POWER_REMEDIATIONS, POWER_TEMPLATES, SELF_REMEDIATIONS, SELF_REMEDIATIONS),
)


class Generator:
    """Generates one sequence."""

    def __init__(self, seed: int, samples: tuple[Sample, ...] = KINDS) -> None:
        self._random = Random(seed)
        # A sequence uses only a few kinds, so that its steps affect the same objects.
        self._samples = tuple(self._random.sample(samples, 4))
        self._steps: list[Step] = []
        self._answers: dict[str, list[int]] = {}
        self._pages: dict[str, list[int]] = {}
        # Objects for which a create step exists, and no delete step since.
        self._likely: list[tuple[Sample, str, str]] = []

    def sequence(self) -> list[Step]:
        """Return a sequence of 20 to 60 steps."""
        operations: tuple[tuple[int, Callable[[], Step]], ...] = (
            (20, self._create),
            (8, self._get),
            (5, self._list),
            (7, self._page),
            (18, self._merge),
            (9, self._merge_status),
            (7, self._json_patch),
            (9, self._apply),
            (7, self._replace),
            (3, lambda: self._replace("status")),
            (9, self._delete),
            (2, self._delete_collection),
            (6, self._watch),
            (2, self._bind),
            (2, self._compact),
        )
        weights = [weight for weight, _ in operations]
        count = self._random.randrange(20, 61)
        # Objects to watch and change from the start.
        for operation in (self._create, self._create, self._watch, self._create):
            self._steps.append(operation())
        while len(self._steps) < count:
            [(_, operation)] = self._random.choices(operations, weights)
            self._steps.append(operation())
            if self._steps[-1].method != "GET" and self._chance(0.03):
                self._steps[-1] = as_dry_run(self._steps[-1])
            if self._steps[-1].label == "compact":
                self._steps += self._after_compaction()
        if self._chance(0.05):
            # Long enough to detect a timestamp that should have changed, or should not have.
            self._steps[count // 2] = Step("wait", query={"seconds": "2.1"})
        return self._steps

    def _after_compaction(self) -> list[Step]:
        """Return steps that reveal a compaction: pages begun before it, and lists at dropped revisions."""
        steps = []
        for path, known in self._pages.items():
            if self._chance(0.5):
                query = {"limit": "1", "continue": f"@token:{self._random.choice(known)}"}
                steps.append(Step("page", path=path, query=query))
        for path in list(self._answers)[-2:]:
            collection, _, _ = path.rpartition("/")
            query = {
                "resourceVersion": f"@rv:{self._earlier(path, latest=False)}",
                "resourceVersionMatch": "Exact",
            }
            steps.append(Step("list", path=collection, query=query))
        return steps

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _pick(self) -> tuple[Sample, str, str]:
        if self._likely and self._chance(0.85):
            return self._random.choice(self._likely)
        sample = self._random.choice(self._samples)
        return sample, self._random.choice(NAMESPACES), self._random.choice(sample.names)

    def _user(self, sample: Sample, *, status: bool = False) -> str:
        if self._chance(0.06):
            return self._random.choice(STRANGERS)
        return self._random.choice((status and sample.status_users) or sample.users)

    def _manager(self) -> dict[str, str]:
        return {"fieldManager": self._random.choice(MANAGERS)} if self._chance(0.9) else {}

    def _item(self, sample: Sample, namespace: str, name: str, subresource: str = "") -> str:
        path = f"{sample.collection(namespace)}/{name}"
        self._answers.setdefault(path, []).append(len(self._steps))
        return f"{path}/{subresource}" if subresource else path

    def _earlier(self, path: str, *, latest: bool) -> int:
        """Return an earlier step whose answer may contain this object."""
        known = [index for index in self._answers.get(path, ()) if index < len(self._steps)]
        if not known:
            return 0
        return known[-1] if latest else self._random.choice(known)

    def _create(self) -> Step:
        sample = self._random.choice(self._samples)
        namespace, name = self._random.choice(NAMESPACES), self._random.choice(sample.names)
        rest = sample.bad(self._random) if self._chance(0.2) else sample.create(self._random)
        if self._chance(0.4):
            change = {key: part for key, part in metadata_change(self._random).items() if part is not None}
            rest = {**rest, "metadata": {**change, **rest.get("metadata", {})}}
        body: Any = sample.document(name, rest)
        if self._chance(0.03):
            body = self._random.choice(('{"kind":', "[]", {"kind": "Other", "apiVersion": "v1"}, {}))
        self._item(sample, namespace, name)
        if (sample, namespace, name) not in self._likely:
            self._likely.append((sample, namespace, name))
        where = "no-such-namespace" if self._chance(0.03) else namespace
        return Step(
            "create", "POST", sample.collection(where), self._manager(), body, user=self._user(sample)
        )

    def _get(self) -> Step:
        sample, namespace, name = self._pick()
        query = {"resourceVersion": "0"} if self._chance(0.2) else {}
        path = self._item(sample, namespace, name, "status" if sample.status and self._chance(0.1) else "")
        return Step(
            "get", path=path, query={} if path.endswith("/status") else query, user=self._user(sample)
        )

    def _selection(self, sample: Sample, namespace: str) -> tuple[dict[str, str], Document]:
        """Return a selector, and metadata that match it."""
        query: dict[str, str] = {}
        metadata: Document = {}
        if self._chance(0.5):
            query["labelSelector"], labels = self._random.choice(SELECTORS)
            metadata["labels"] = labels
        if self._chance(0.2):
            name = self._random.choice(sample.names[:2])
            query["fieldSelector"], metadata["name"] = f"metadata.name={name}", name
        elif sample is PODS and self._chance(0.4):
            query["fieldSelector"], metadata["node"] = "spec.nodeName=n1", "n1"
        elif sample.namespaced and self._chance(0.1):
            query["fieldSelector"] = f"metadata.namespace={namespace}"
        return query, metadata

    def _list(self) -> Step:
        sample, namespace, name = self._pick()
        query, _ = self._selection(sample, namespace)
        if self._chance(0.06):
            query["fieldSelector"] = self._random.choice(("spec.bogus=1", "nonsense"))
        kind = self._random.randrange(6)
        path = f"{sample.collection(namespace)}/{name}"
        version = f"@rv:{self._earlier(path, latest=False)}"
        if kind == 0:
            query |= {"resourceVersion": "0"}
        elif kind == 1:
            query |= {"resourceVersion": version, "resourceVersionMatch": "Exact"}
        elif kind == 2 and self._chance(0.3):
            query |= {"resourceVersionMatch": self._random.choice(("Exact", "NotOlderThan", "Nonsense"))}
        return Step("list", path=sample.collection(namespace), query=query, user=self._user(sample))

    def _page(self) -> Step:
        sample, namespace, _ = self._pick()
        path = sample.collection(namespace)
        known = self._pages.setdefault(path, [])
        query = {"limit": self._random.choice(("1", "2"))}
        if known and self._chance(0.7):
            query["continue"] = f"@token:{self._random.choice(known)}"
        elif self._chance(0.3):
            query |= self._selection(sample, namespace)[0]
        known.append(len(self._steps))
        return Step("page", path=path, query=query, user="admin")

    def _preconditions(self, path: str) -> Document:
        metadata: Document = {}
        kind = self._random.randrange(10)
        if kind in {0, 1, 2}:
            metadata["resourceVersion"] = f"@rv:{self._earlier(path, latest=True)}"
        if kind in {3, 4}:
            metadata["resourceVersion"] = f"@rv:{self._earlier(path, latest=False)}"
        if kind in {2, 5}:
            metadata["uid"] = f"@uid:{self._earlier(path, latest=True)}"
        if kind in {4, 6}:
            metadata["uid"] = "11111111-2222-4333-8444-555555555555"
        if kind == 7 and self._chance(0.2):
            metadata["resourceVersion"] = self._random.choice(("", "0", "1", "nonsense"))
        return metadata

    def _changed(self, sample: Sample) -> Document:
        if self._chance(0.15):
            return sample.bad(self._random)
        if self._chance(0.35):
            return {"metadata": metadata_change(self._random)}
        return sample.change(self._random)

    def _with_preconditions(self, change: Document, path: str) -> Document:
        metadata = {**change.get("metadata", {}), **self._preconditions(path)}
        return {**change, "metadata": metadata} if metadata else change

    def _merge(self) -> Step:
        sample, namespace, name = self._pick()
        path = f"{sample.collection(namespace)}/{name}"
        body: Any = self._with_preconditions(self._changed(sample), path)
        if self._chance(0.03):
            body = self._random.choice(("[]", '"x"', "{", {"kind": "Other"}, {}))
        self._item(sample, namespace, name)
        content = Content.MERGE_PATCH.value
        return Step("merge patch", "PATCH", path, self._manager(), body, content, self._user(sample))

    def _merge_status(self) -> Step:
        sample, namespace, name = self._pick()
        if sample.status is None:
            return self._merge()
        path = f"{sample.collection(namespace)}/{name}"
        bad = sample.bad_status is not None and self._chance(0.15)
        change = (sample.bad_status or sample.status)(self._random) if bad else sample.status(self._random)
        if self._chance(0.2):
            change = {**change, **sample.change(self._random)}
        body = self._with_preconditions(change, path)
        target = self._item(sample, namespace, name, "status")
        content = Content.MERGE_PATCH.value
        user = self._user(sample, status=True)
        return Step("merge patch of status", "PATCH", target, self._manager(), body, content, user)

    def _json_patch(self) -> Step:
        sample, namespace, name = self._pick()
        path = f"{sample.collection(namespace)}/{name}"
        operations = json_patches(name, f"@rv:{self._earlier(path, latest=True)}")
        body: Any = self._random.choice(operations)
        if self._chance(0.04):
            body = self._random.choice(("{}", "[", [{"op": "dance", "path": "/x"}]))
        self._item(sample, namespace, name)
        return Step(
            "json patch", "PATCH", path, self._manager(), body, Content.JSON_PATCH.value, self._user(sample)
        )

    def _apply(self) -> Step:
        sample, namespace, name = self._pick()
        status = sample.status is not None and self._chance(0.3)
        if status and sample.status is not None:
            rest = sample.status(self._random)
        else:
            rest = sample.create(self._random) if self._chance(0.7) else {}
            rest.pop("status", None)
            if self._chance(0.5):
                rest["metadata"] = {"labels": {"app": self._random.choice("ab")}}
        rest = without_nulls(rest)
        rest.get("spec", {}).pop("bogus", None)
        rest.get("status", {}).pop("bogus", None)
        rest.get("spec", {}).get("inner", {}).pop("bogus", None)
        body = sample.document(name, rest)
        path = self._item(sample, namespace, name, "status" if status else "")
        query = {"fieldManager": self._random.choice(MANAGERS)}
        if self._chance(0.6):
            query["force"] = "true"
        label = "forced apply" if "force" in query else "apply"
        return Step(
            label, "PATCH", path, query, body, Content.APPLY_PATCH.value, self._user(sample, status=status)
        )

    def _replace(self, subresource: str = "") -> Step:
        sample, namespace, name = self._pick()
        if subresource and sample.status is None:
            subresource = ""
        path = f"{sample.collection(namespace)}/{name}"
        change = sample.status(self._random) if subresource and sample.status else self._changed(sample)
        body: Any = {"@object": self._earlier(path, latest=self._chance(0.7)), "with": change}
        if self._chance(0.3):
            metadata = {**change.get("metadata", {}), "resourceVersion": None}
            body = {**body, "with": {**change, "metadata": metadata}}
        if self._chance(0.15):
            body = sample.document(name, without_nulls(sample.create(self._random)))
        target = self._item(sample, namespace, name, subresource)
        label = "replace of status" if subresource else "replace"
        user = self._user(sample, status=bool(subresource))
        return Step(label, "PUT", target, self._manager(), body, user=user)

    def _delete(self) -> Step:
        sample, namespace, name = self._pick()
        path = f"{sample.collection(namespace)}/{name}"
        body: Document = {}
        kind = self._random.randrange(8)
        if kind in {0, 1}:
            body["preconditions"] = {"uid": f"@uid:{self._earlier(path, latest=self._chance(0.6))}"}
        if kind in {1, 2}:
            body.setdefault("preconditions", {})["resourceVersion"] = (
                f"@rv:{self._earlier(path, latest=self._chance(0.6))}"
            )
        if kind == 3:
            body["gracePeriodSeconds"] = self._random.choice((0, 0, 1, 10, -3))
        if kind == 4:
            body["propagationPolicy"] = self._random.choice(
                ("Background", "Foreground", "Orphan", "Nonsense")
            )
        query = {"gracePeriodSeconds": "0"} if kind == 5 else {}
        target = self._item(sample, namespace, name)
        if (sample, namespace, name) in self._likely and self._chance(0.7):
            self._likely.remove((sample, namespace, name))
        return Step("delete", "DELETE", target, query, body or None, user=self._user(sample))

    def _delete_collection(self) -> Step:
        sample, namespace, _ = self._pick()
        query, _ = self._selection(sample, namespace)
        return Step(
            "delete collection", "DELETE", sample.collection(namespace), query, user=self._user(sample)
        )

    def _watch(self) -> Step:
        sample, namespace, name = self._pick()
        if sample is EVENTS:
            # Events have no watch cache, so other rules apply.
            return self._get()
        query, metadata = self._selection(sample, namespace)
        query = {"watch": "true", "timeoutSeconds": LONG, **query}
        kind = self._random.randrange(8)
        label = "watch"
        if kind <= 2:
            query["resourceVersion"] = (
                f"@rv:{self._earlier(f'{sample.collection(namespace)}/{name}', latest=self._chance(0.5))}"
            )
        elif kind == 3:
            query["resourceVersion"] = "0"
        elif kind == 4:
            query["resourceVersion"] = "1"
        elif kind == 5 and self._chance(0.3):
            query["resourceVersionMatch"] = "NotOlderThan"
        elif kind >= 6:
            query |= {
                "sendInitialEvents": "true",
                "resourceVersionMatch": "NotOlderThan",
                "allowWatchBookmarks": "true",
            }
            label = "watch with initial events"
        sentinel = self._sentinel(sample, namespace, metadata)
        user = self._user(sample)
        return Step(label, path=sample.collection(namespace), query=query, user=user, sentinel=sentinel)

    def _sentinel(self, sample: Sample, namespace: str, metadata: Document) -> Document:
        """Return an object that the watch certainly reports after all other objects are deleted."""
        rest = sample.create(Random(1))
        if sample is PODS:
            rest = {"spec": {**rest["spec"], "nodeName": metadata.get("node", "n1")}}
        name = metadata.get("name") or f"sentinel-{len(self._steps)}"
        if sample is POLICIES:
            name = "cluster"
        if sample is ORDERS:
            rest["spec"]["by"] = "admin"
        labels = {**metadata.get("labels", {}), "sentinel": f"s{len(self._steps)}"}
        document = sample.document(name, without_nulls({**rest, "metadata": {"labels": labels}}))
        return {"path": sample.collection(namespace), "body": document}

    def _bind(self) -> Step:
        pods = [one for one in self._likely if one[0] is PODS]
        _, namespace, name = self._random.choice(pods) if pods else (PODS, NAMESPACES[0], PODS.names[0])
        path = f"{PODS.collection(namespace)}/{name}/binding"
        body = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "n1"}}
        return Step("bind", "POST", path, {}, body, user=self._user(PODS))

    def _compact(self) -> Step:
        return Step("compact")
