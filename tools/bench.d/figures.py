"""The arithmetic of the benchmark: medians, ranges, ratios within a round."""


def median(values):
    """The middle value, the mean of the two middle ones of an even number; None without values."""
    ordered = sorted(values)
    if not ordered:
        return None
    middle = len(ordered) // 2
    if len(ordered) % 2 == 1:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def spread(values):
    """{"median", "min", "max", "count"} of the values; None without values."""
    values = [value for value in values if value is not None]
    if not values:
        return None
    return {
        "median": median(values),
        "min": min(values),
        "max": max(values),
        "count": len(values),
    }


def ratios(numerators, denominators):
    """{round: ratio} of two {round: value}, for rounds that have both and no zero below.

    What is compared was measured within the same minute, so a machine that gets faster or slower
    in the course of the benchmark changes both sides alike.
    """
    return {
        number: value / denominators[number]
        for number, value in numerators.items()
        if value is not None and denominators.get(number)
    }


def rotated(items, steps):
    """The items in another order for each round: whoever came first comes last later on."""
    items = list(items)
    if not items:
        return items
    steps %= len(items)
    return items[steps:] + items[:steps]


def value_at(tree, path):
    """tree["a"]["b"] for "a.b"; None if there is none."""
    for key in path.split("."):
        if not isinstance(tree, dict) or tree.get(key) is None:
            return None
        tree = tree[key]
    return tree
