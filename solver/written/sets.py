"""Which inner fields: sets of them, the cheapest first, until no set can need fewer transforms.

A set that is too small rules out all that is in it. In one that is large enough, products are dropped while the others
suffice, in several orders, and the forward transforms of the rest are counted. Where there are too many sets to try
all, one is changed step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import numpy as np

from solver.written.dictionary import Dictionary
from solver.written.forward import Forward, Key
from solver.written.problem import Pair, Problem
from solver.written.terms import Term

MOST_BLOCKS = 12  # of inner fields, of which every set is tried
MOST_CHOICES = 64  # of products, for one set of inner fields
MOST_IN_VAIN = 32  # sets that suffice, one after the other, and bring nothing: the search ends, dearer ones take longer
SHUFFLED = 3  # orders in which few products are dropped, beside the usual ones
FEW, MANY = 16, 60  # products


@dataclass(frozen=True)
class Found:
    """A set of inner fields, and products of them that suffice.

    Args:
        score: the smaller the better; the number of transforms first.
        terms: terms with these products, and the terms that stay as they are.
    """

    score: tuple[Any, ...]
    terms: tuple[Term, ...]


class SetSearch:
    """Searches for the best set of inner fields; terms that are written stay as they are."""

    def __init__(
        self, choice: Dictionary, problems: Sequence[Problem], forward: Forward, written: Sequence[Term]
    ) -> None:
        self.choice, self.problems, self.forward = choice, problems, forward
        self.written, self.of_written = tuple(written), forward.vectors(written)
        self.blocks = choice.blocks
        block_of = {i: b for b, block in enumerate(self.blocks) for i in block}
        self.relevant = [
            sum(1 << b for b in {block_of[i] for pair in p.of_pair for i in pair if i in block_of}) for p in problems
        ]
        self.hopeless: list[list[int]] = [[] for _ in problems]
        self.solutions: dict[tuple[int, tuple[Pair, ...]], tuple[list[Term], dict[Key, np.ndarray]] | None] = {}

    def best(self) -> Found | None:
        """The best choice that is found; None if no set suffices."""
        return self._of_all() if len(self.blocks) <= MOST_BLOCKS else self._of_neighbours()

    def _of_all(self) -> Found | None:
        best, in_vain = None, 0
        for cost, order, chosen in self._sets():
            if best is not None and (cost + 1, *order) >= best.score[: 1 + len(order)]:
                if cost + 1 > best.score[0]:
                    break
                continue
            if self._suffices(chosen):
                found = self._best_of(chosen)
                is_better = found is not None and (best is None or found.score < best.score)
                best, in_vain = (found, 0) if is_better else (best, in_vain + 1)
                if best is not None and in_vain >= MOST_IN_VAIN:
                    break
        return best

    def _of_neighbours(self) -> Found | None:
        """The best set that is reached by adding one block after another, each time without those that need not be."""
        chosen = self._without_needless((1 << len(self.blocks)) - 1)
        best = self._best_of(chosen) if self._suffices(chosen) else None
        seen, waiting = {chosen}, list(range(len(self.blocks)))
        while best is not None and waiting:
            added = 1 << waiting.pop(0)
            tried = self._without_needless(chosen | added, added)
            found = None if tried in seen else self._best_of(tried)
            seen.add(tried)
            if found is not None and found.score < best.score:
                best, chosen, waiting = found, tried, list(range(len(self.blocks)))
        return best

    def _without_needless(self, chosen: int, kept: int = 0) -> int:
        """A set without blocks that need not be in it: those with most derivatives go first."""
        largest = lambda b: (max(self.choice.inner[i].order for i in self.blocks[b]), len(self.blocks[b]), b)  # noqa: E731
        for b in sorted(range(len(self.blocks)), key=largest, reverse=True):
            if chosen >> b & 1 and not kept >> b & 1 and self._suffices(chosen & ~(1 << b)):
                chosen &= ~(1 << b)
        return chosen

    # ---- sets -------------------------------------------------------------------------------------------------------

    def _sets(self) -> Iterator[tuple[int, tuple[float, ...], int]]:
        """Sets of blocks as bits, with their cost and their orders of derivatives, the cheapest first."""
        sets = range(1 << len(self.blocks))
        yield from sorted((len(self._scalars(bits)), self._order(bits), bits) for bits in sets)

    def _scalars(self, chosen: int) -> list[int]:
        return [i for b, block in enumerate(self.blocks) if chosen >> b & 1 for i in block]

    def _order(self, chosen: int) -> tuple[float, float]:
        """The most derivatives in a scalar of a set, and the derivatives of all."""
        orders = [self.choice.inner[i].order for i in self._scalars(chosen)]
        return max(orders, default=0.0), sum(orders)

    def _inner(self, chosen: int) -> list[int]:
        return [*self.choice.given, *self._scalars(chosen)]

    def _suffices(self, chosen: int) -> bool:
        return all(self._suffices_for(n, chosen & relevant) for n, relevant in enumerate(self.relevant))

    def _suffices_for(self, n: int, chosen: int) -> bool:
        """True if products of a set are enough for one problem; if not, the largest such set is kept in mind."""
        problem = self.problems[n]
        if any(chosen | known == known for known in self.hopeless[n]):
            return False
        enough = lambda bits: problem.suffices(problem.within(self._inner(bits)))  # noqa: E731
        if enough(chosen):
            return True
        for b in range(len(self.blocks)):
            if self.relevant[n] >> b & 1 and not chosen >> b & 1 and not enough(chosen | 1 << b):
                chosen |= 1 << b
        self.hopeless[n].append(chosen)
        return False

    # ---- products ---------------------------------------------------------------------------------------------------

    def _best_of(self, chosen: int) -> Found | None:
        """The best choice of products from one set."""
        return min(self._choices(chosen), key=lambda found: found.score, default=None)

    def _choices(self, chosen: int) -> Iterator[Found]:
        """Products from one set that suffice."""
        inner = self._inner(chosen)
        per_problem = []
        for n, problem in enumerate(self.problems):
            pairs = problem.within(inner)
            minimal = problem.minimal(pairs, self._orders(len(pairs)), MOST_CHOICES)
            solved = [found for some in minimal if (found := self._solved(n, some)) is not None]
            if not solved:
                return
            per_problem.append(solved)
        for combination in islice(product(*per_problem), MOST_CHOICES):
            vectors = dict(self.of_written)
            for _, some in combination:
                for key, vector in some.items():
                    vectors[key] = vectors[key] + vector if key in vectors else vector
            terms = tuple(term for some, _ in combination for term in some)
            used = {i for term in terms if isinstance(term.made, tuple) for i in term.made}
            inverse = len(used - set(self.choice.given))
            score = (inverse + self.forward.least(vectors), *self._order(chosen), len(vectors), len(terms))
            yield Found(score, self.written + terms)

    def _orders(self, count: int) -> list[Callable[[Pair], Any]]:
        """Orders in which products are dropped."""
        inner = self.choice.inner
        derivatives = lambda pair: sum(inner[i].order for i in pair)  # noqa: E731
        random = np.random.default_rng(4)
        chance = random.permutation(max(1, len(inner)) ** 2)
        place = lambda pair: pair[0] * len(inner) + pair[1]  # noqa: E731
        shuffled: list[Callable[[Pair], Any]] = [
            lambda pair, n=n: chance[(place(pair) + 7 * n) % len(chance)]  # type: ignore[misc]
            for n in range(SHUFFLED)
        ]
        usual: list[Callable[[Pair], Any]] = [
            lambda pair: (-derivatives(pair), pair),
            lambda pair: (derivatives(pair), pair),
            lambda pair: (-derivatives(pair), tuple(-i for i in pair)),
            lambda pair: (derivatives(pair), tuple(-i for i in pair)),
        ]
        return usual[:2] if count > MANY else usual + (shuffled if count < FEW else [])

    def _solved(self, n: int, pairs: tuple[Pair, ...]) -> tuple[list[Term], dict[Key, np.ndarray]] | None:
        """Coefficients for one problem, and what they add to the forward transforms."""
        if (n, pairs) not in self.solutions:
            terms = self.problems[n].solved(pairs)
            self.solutions[n, pairs] = None if terms is None else (terms, self.forward.vectors(terms))
        return self.solutions[n, pairs]
