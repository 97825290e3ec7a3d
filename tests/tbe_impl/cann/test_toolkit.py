"""The real toolkit: without one there is an error that states it; with one these tests run it."""

import numpy as np
import pytest

from tbe_impl.cann import toolkit as cann
from tbe_impl.errors import MissingError
from tbe_impl.loading.operator import load_operator


def add_one(x, y, kernel_name="add_one"):
    from tbe import dsl, tvm

    data = tvm.placeholder(x["shape"], name="x", dtype=x["dtype"])
    result = dsl.vadds(data, 1.0)
    with tvm.target.cce():
        schedule = dsl.auto_schedule(result)
    dsl.build(schedule, {"name": kernel_name, "tensor_list": [data, result]})


@pytest.mark.skipif(cann.is_installed(), reason="a toolkit is installed")
def test_without_a_toolkit_the_error_says_where_it_runs_instead(tmp_path):
    description = {"shape": (16, 16), "dtype": "float16"}
    operator = load_operator(add_one)
    with pytest.raises(MissingError, match=r"no CANN toolkit.*`cpu` and `numpy`"):
        operator.build_for_device(tmp_path, description, description)
    x = np.ones((16, 16), np.float16)
    assert np.array_equal(operator.build(description, description)(x), x + 1)


@pytest.mark.device
@pytest.mark.skipif(not cann.is_installed(), reason="needs the CANN toolkit")
def test_the_toolkit_compiles_the_operator(tmp_path):
    description = {"shape": (16, 16), "dtype": "float16", "format": "ND"}
    files = load_operator(add_one).build_for_device(tmp_path, description, description)
    assert any(file.suffix == ".o" for file in files)
