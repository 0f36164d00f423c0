# SPDX-License-Identifier: Apache-2.0
"""Judges random tensors. A correct runtime fails one test with a probability of at most 1e-9.

The distribution function of the sample is compared with the expected one by the inequality of
Dvoretzky, Kiefer and Wolfowitz, P(sup|F_n - F| > e) <= 2 exp(-2 n e^2), which holds for every n and
every distribution, discrete ones included. The mean of a normal sample is normal itself; that of
bounded values obeys Hoeffding's inequality. The variance of a sample of n values about the
true mean has the variance (kurtosis - 1) sigma^4 / n; seven of its standard deviations are allowed,
and the square of what the mean may be off.

Dependence is measured with levels, the values of the distribution function: (u - 1/2)(v - 1/2) of
independent u and v has the mean 0 and lies within [-1/4, 1/4], so that Hoeffding's inequality bounds
its mean. Within a sample the pairs are disjoint, so that they are independent of each other.
"""

import math

FALSE_FAILURE = 1e-9
NORMAL_QUANTILE = 6.2  # P(|z| > 6.2) < 1e-9
VARIANCE_DEVIATIONS = 7


def bound_of_distribution(count):
    return math.sqrt(math.log(2 / FALSE_FAILURE) / (2 * count))


class Normal:
    kurtosis = 3.0

    def __init__(self, mean, scale):
        self.mean, self.scale, self.variance = mean, scale, scale * scale

    def below(self, x):
        """P(X <= x), and P(X < x)."""
        value = 0.5 * math.erfc((self.mean - x) / (self.scale * math.sqrt(2)))
        return value, value

    def mean_bound(self, count):
        return NORMAL_QUANTILE * self.scale / math.sqrt(count)

    def outside(self, _):
        return False


class Uniform:
    kurtosis = 1.8

    def __init__(self, low, high):
        self.low, self.high = low, high
        self.mean, self.variance = (low + high) / 2, (high - low) ** 2 / 12

    def below(self, x):
        value = min(1.0, max(0.0, (x - self.low) / (self.high - self.low)))
        return value, value

    def mean_bound(self, count):
        return (self.high - self.low) * bound_of_distribution(count)

    def outside(self, x):
        # `high` itself may be reached by rounding.
        return not self.low <= x <= self.high


class Discrete:
    """Values with their probabilities."""

    def __init__(self, values, probabilities):
        self.table = sorted(zip(values, probabilities))
        self.mean = sum(v * p for v, p in self.table)
        self.variance = sum((v - self.mean) ** 2 * p for v, p in self.table)
        fourth = sum((v - self.mean) ** 4 * p for v, p in self.table)
        self.kurtosis = fourth / self.variance**2 if self.variance else 3.0

    def below(self, x):
        return sum(p for v, p in self.table if v <= x), sum(p for v, p in self.table if v < x)

    def mean_bound(self, count):
        return (self.table[-1][0] - self.table[0][0]) * bound_of_distribution(count)

    def outside(self, x):
        return all(v != x or p == 0 for v, p in self.table)


KINDS = {"normal": Normal, "uniform": Uniform, "discrete": Discrete}


def distance(values, law):
    """Largest difference of the distribution functions of the sample and of the law."""
    ordered = sorted(values)
    count, largest = len(ordered), 0.0
    for i, x in enumerate(ordered):
        upto, under = law.below(x)
        last = i + 1 == count or ordered[i + 1] != x
        first = i == 0 or ordered[i - 1] != x
        if last:
            largest = max(largest, abs((i + 1) / count - upto))
        if first:
            largest = max(largest, abs(i / count - under))
    return largest


def levels(values, description):
    """The values of the distribution function, halfway up its steps."""
    law = KINDS[description["law"]](*description["parameters"])
    return [sum(law.below(x)) / 2 for x in values]


def dependence(first, second):
    """What is wrong with the levels of two samples that must be independent, or None."""
    count = min(len(first), len(second))
    mean = sum((u - 0.5) * (v - 0.5) for u, v in zip(first, second)) / count
    bound = bound_of_distribution(count) / 2
    return None if abs(mean) <= bound else f"dependent: {mean:.3g}, expected 0 +- {bound:.3g}"


def dependence_within(values, description):
    """Neighbors and halves of a sample must be independent; a continuous one seldom repeats."""
    continuous = description["law"] != "discrete" and description["type"] != "float16"
    if continuous and len(set(values)) < 0.9 * len(values):
        return f"only {len(set(values))} different values"
    found, half = levels(values, description), len(values) // 2
    return dependence(found[::2], found[1::2]) or dependence(found[:half], found[half:])


def difference(values, description):
    """What is wrong with a sample, or None."""
    law = KINDS[description["law"]](*description["parameters"])
    count = len(values)
    if any(math.isnan(x) or law.outside(x) for x in values):
        return "values outside of the range"
    mean = sum(values) / count
    if abs(mean - law.mean) > law.mean_bound(count):
        return f"mean {mean:.6g}, expected {law.mean:.6g} +- {law.mean_bound(count):.3g}"
    variance = sum((x - mean) ** 2 for x in values) / count
    spread = (
        VARIANCE_DEVIATIONS * law.variance * math.sqrt((law.kurtosis - 1) / count)
        + law.mean_bound(count) ** 2
    )
    if abs(variance - law.variance) > spread:
        return f"variance {variance:.6g}, expected {law.variance:.6g} +- {spread:.3g}"
    if distance(values, law) > bound_of_distribution(count):
        return f"distribution function off by {distance(values, law):.3g}"
    return dependence_within(values, description)
