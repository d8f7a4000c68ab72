"""Statistics of contenders that saw the same networks."""
from statistics import NormalDist, fmean, stdev

LEVEL = 0.95
SAME = 1e-9  # relative; closer than this, two times are one


def numbers(rows, *columns):
    """The rows in which all these columns have a value, a tuple each."""
    return [tuple(float(row[column]) for column in columns) for row in rows
            if all(row.get(column) not in ("", None) for column in columns)]


def student(degrees):
    """Two-sided quantile of Student's t (Abramowitz and Stegun 26.7.5: 1 % low with two degrees of
    freedom, less with more)."""
    x = NormalDist().inv_cdf((1 + LEVEL) / 2)
    terms = ((x**3 + x) / 4, (5 * x**5 + 16 * x**3 + 3 * x) / 96,
             (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
             (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160)
    return x + sum(term / degrees ** (k + 1) for k, term in enumerate(terms))


def mean_interval(values):
    """The mean, and half the width of its 95 % interval; None where two values lack."""
    if len(values) < 2:
        return (fmean(values) if values else None), None
    return fmean(values), student(len(values) - 1) * stdev(values) / len(values) ** 0.5


def signed_ranks(differences):
    """Two-sided p of Wilcoxon's signed ranks, from all signs there are; zeros are left out."""
    ordered = sorted((d for d in differences if d), key=abs)
    sizes = [abs(d) for d in ordered]
    doubled = [2 * sizes.index(size) + sizes.count(size) + 1 for size in sizes]  # ties share a rank
    total = sum(doubled)
    ways = [1] + [0] * total
    for rank in doubled:
        for reached in range(total, rank - 1, -1):
            ways[reached] += ways[reached - rank]
    seen = abs(2 * sum(rank for rank, d in zip(doubled, ordered) if d > 0) - total)
    return sum(w for k, w in enumerate(ways) if abs(2 * k - total) >= seen) / 2 ** len(ordered)


def against(rows, contender, yardstick):
    """How far `contender` lies above `yardstick`, relative, over the rows that have both: mean, half
    of its interval, p; None without such rows."""
    excess = [one / other - 1 for one, other in numbers(rows, contender, yardstick)]
    if not excess:
        return None
    excess = [0.0 if abs(x) < SAME else x for x in excess]
    mean, half = mean_interval(excess)
    return {"mean": mean, "half": half, "p": signed_ranks([round(x, 12) for x in excess]), "n": len(excess)}
