"""Five steps of the solver beside the second program's."""

import numpy as np

from . import runs


def assert_the_same(table, start, fields, row, *, of_fields, rtol, atol):
    """Fields after five steps, and the columns of the series that both have, are equal to those of the second program.

    Args:
        table: of the run file, of fixed steps.
        start, fields: values at the points of each field at the start, and after the steps.
        row: columns after the steps.
        of_fields: largest difference of a field, over its largest value.
        rtol, atol: of columns.
    """
    course = runs.run(table, start)
    values, columns = course.values(5), course.columns(5)
    assert max(np.abs(fields[n] - start[n]).max() for n in fields) > 1e-3, "nothing happens"
    for field, found in fields.items():
        np.testing.assert_allclose(values[field], found, rtol=0, atol=of_fields * np.abs(found).max())
    for column in columns.keys() & row.keys():
        np.testing.assert_allclose(row[column], columns[column], rtol=rtol, atol=atol, err_msg=column)
