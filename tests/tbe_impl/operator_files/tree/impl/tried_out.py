"""An operator that runs on its own arrays during the build."""

import sys

import numpy as np
from tbe import dsl, tvm
from tbe.common.testing.testing import *  # noqa: F403


def tried_out(x, y, wanted=2.0, kernel_name="tried_out"):
    """2·|x| + 1."""
    with debug():  # noqa: F405
        place = get_ctx()  # noqa: F405
        given = tvm.nd.array(np.linspace(-1, 1, 6).reshape(x["shape"]).astype(x["dtype"]), place)
        result = tvm.nd.array(np.zeros(x["shape"], x["dtype"]), place)
        data = tvm.placeholder(x["shape"], x["dtype"], "data")
        large = dsl.vabs(data)
        res = dsl.vadds(dsl.vmuls(large, 2.0), 1.0)
        print_tensor(large, ofile=sys.stdout)  # noqa: F405
        assert_allclose(large, desired=abs(given.asnumpy()), tol=[1e-6, 1e-6])  # noqa: F405
        build(tvm.create_schedule(res.op), [data, res], name=kernel_name)  # noqa: F405
        run(given, result)  # noqa: F405
        tvm.testing.assert_allclose(result.asnumpy(), abs(given.asnumpy()) * wanted + 1, 1e-6)
