"""Sums up sales by day and region, with pandas."""
import numpy
import pandas


def load(rows):
    random = numpy.random.default_rng(1)
    return pandas.DataFrame({
        "day": random.integers(0, 365, rows), "region": random.choice(["north", "south", "east", "west"], rows),
        "price": random.random(rows) * 100, "pieces": random.integers(1, 9, rows),
    })


def total(sale):
    return sale["price"] * sale["pieces"] * (0.9 if sale["pieces"] > 5 else 1)


def add_totals(sales):
    sales["total"] = sales.apply(total, axis=1)


def by_day(sales):
    return sales.groupby(["day", "region"])["total"].agg(["sum", "mean", "median"])


def main():
    sales = load(400_000)
    add_totals(sales)
    print(by_day(sales)["sum"].idxmax())


main()
