"""Runs kernels, then child processes with the same kernels: `kernels_in_children.py CACHE WAY`."""

import multiprocessing
import os
import sys

import numpy as np

import tbe_impl.dsl as dsl
from tbe_impl.codegen.options import Options
from tbe_impl.cpu import prepared_kernel
from tbe_impl.runtime.store import Store


def work(number):
    x = dsl.placeholder((64, 1024), "float32")
    outputs = [dsl.vexp(x), dsl.reduce_sum(x, [0, 1]), dsl.reduce_sum(x, 0)]
    for threads in (0, 2):
        options = Options(parallel_elements=2, threads=threads)
        kernel = prepared_kernel.prepare(outputs, [x], options=options, cache=Store(sys.argv[1]))
        array = np.full((64, 1024), number, np.float32)
        y, total, columns = kernel.run([array], {}, 2)
        np.testing.assert_allclose(y, np.exp(array), rtol=1e-6)
        assert total == array.sum() and (columns == 64 * number).all()
    return number


if __name__ == "__main__":
    work(1)
    if sys.argv[2] == "os.fork":
        child = os.fork()
        if not child:
            os._exit(work(2) - 2)
        assert os.waitpid(child, 0)[1] == 0
    else:
        with multiprocessing.get_context(sys.argv[2]).Pool(2) as pool:
            assert pool.map(work, range(1, 5)) == [1, 2, 3, 4]
    work(3)
    print("all right")
