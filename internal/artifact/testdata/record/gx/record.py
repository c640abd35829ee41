"""Validates tables with Great Expectations and saves the results in the directory that it is given."""

import json
import sys
from pathlib import Path

import great_expectations as gx
import great_expectations.expectations as gxe
from great_expectations import Checkpoint, ExpectationSuite, ValidationDefinition

out = Path(sys.argv[1])
data = Path("data")
data.mkdir(exist_ok=True)
tables = {
    "orders_eu": "id,amount\n,10\n2,20\n",
    "orders_us": "id,amount\n1,10\n2,20\n",
    "returns": "id\n1\n",
}
context = gx.get_context(mode="ephemeral")
shop = context.data_sources.add_pandas_filesystem("shop", base_directory=data)
batches = {}
for name, text in tables.items():
    (data / f"{name}_2026-03-02.csv").write_text(text)
    batches[name] = shop.add_csv_asset(name).add_batch_definition_daily(
        "daily", regex=name + r"_(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})\.csv"
    )


def suite(name, column):
    complete, rows = gxe.ExpectColumnValuesToNotBeNull(column=column), gxe.ExpectTableRowCountToBeBetween(min_value=1)
    return context.suites.add(ExpectationSuite(name, expectations=[complete, rows]))


complete, amounts = suite("orders suite", "id"), suite("amounts", "amount")


def checkpoint(name, validations):
    definitions = [
        context.validation_definitions.add(ValidationDefinition(name=f"{name} {i}", data=batches[batch], suite=expected))
        for i, (batch, expected) in enumerate(validations)
    ]
    return context.checkpoints.add(Checkpoint(name=name, validation_definitions=definitions)).run()


def save(name, value):
    (out / name).write_text(json.dumps(value, indent=1, default=str) + "\n")


def save_both(name, result):
    """Saves the result of a validation or a checkpoint in both of its forms."""
    if hasattr(result, "run_results"):  # a checkpoint; it has no to_json_dict
        save(f"{name}.json", {"run_results": {str(k): v.to_json_dict() for k, v in result.run_results.items()}})
    else:
        save(f"{name}.json", result.to_json_dict())
    save(f"{name}-describe.json", json.loads(result.describe()))


save_both("validation", batches["orders_us"].get_batch().validate(complete))
save_both("raised", batches["returns"].get_batch().validate(amounts))  # returns has no column "amount"
# The first batch of "orders suite" fails and that of "amounts" raises an exception; the last ones pass.
order = [("orders_eu", complete), ("orders_us", complete), ("returns", amounts), ("orders_us", amounts)]
save_both("checkpoint", checkpoint("nightly", order))
