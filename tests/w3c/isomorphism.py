"""Whether two bags of rows are the same up to the names of blank nodes.

Each blank node gets a colour by what stands beside it in its rows, again and again until no class of equally coloured
nodes splits any more.  Where nodes are still alike, one of them is paired with each of its possible partners in turn.
A pairing counts only if the renamed bag is the other bag, so a clash of colours costs time and never an answer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TypeAlias

from pyoxigraph import BlankNode

if TYPE_CHECKING:
    from collections.abc import Iterable

Row: TypeAlias = tuple[object, ...]
Bag: TypeAlias = Counter[Row]
Colours: TypeAlias = dict[BlankNode, int]


def isomorphic(left: Iterable[Row], right: Iterable[Row]) -> bool:
    """Whether some renaming of blank nodes makes one bag the other; duplicates count."""
    left, right = Counter(left), Counter(right)
    return _match(left, right, _uncoloured(left), _uncoloured(right))


def _uncoloured(bag: Bag) -> Colours:
    return {term: 0 for row in bag for term in row if isinstance(term, BlankNode)}


def _match(left: Bag, right: Bag, left_colours: Colours, right_colours: Colours) -> bool:
    left_colours, right_colours = _refined(left, left_colours), _refined(right, right_colours)
    sizes = Counter(left_colours.values())
    if sizes != Counter(right_colours.values()):
        return False
    alike = next((colour for colour, size in sizes.items() if size > 1), None)
    if alike is None:
        names = {colour: node for node, colour in right_colours.items()}
        renaming = {node: names[colour] for node, colour in left_colours.items()}
        return _renamed(left, renaming) == right
    chosen = next(node for node, colour in left_colours.items() if colour == alike)
    mark = hash((alike, "chosen"))
    return any(
        _match(left, right, left_colours | {chosen: mark}, right_colours | {partner: mark})
        for partner, colour in right_colours.items()
        if colour == alike
    )


def _refined(bag: Bag, colours: Colours) -> Colours:
    classes = len(set(colours.values()))
    while True:
        seen: defaultdict[BlankNode, list[int]] = defaultdict(list)
        for row, count in bag.items():
            painted = tuple(colours[term] if isinstance(term, BlankNode) else term for term in row)
            for place, term in enumerate(row):
                if isinstance(term, BlankNode):
                    seen[term].append(hash((place, count, painted)))
        colours = {node: hash((colours[node], *sorted(rows))) for node, rows in seen.items()}
        split = len(set(colours.values()))
        if split == classes:
            return colours
        classes = split


def _renamed(bag: Bag, renaming: dict[BlankNode, BlankNode]) -> Bag:
    renamed: Bag = Counter()
    for row, count in bag.items():
        renamed[tuple(renaming.get(term, term) for term in row)] += count
    return renamed
