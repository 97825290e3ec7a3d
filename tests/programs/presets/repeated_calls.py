"""The same calls through MindSpore and with the cached graph, for the named scenes."""

import copy
import gc
import os
import signal
import sys
import warnings
import weakref
from types import SimpleNamespace

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import One

from ms_fusion.mindspore.calls import fast_call_path
from tests.programs.presets.child import RESULT, answer

ms.set_context(mode=ms.GRAPH_MODE)
warnings.simplefilter("ignore")
WAYS = []
NO_SCOPES = SimpleNamespace(flags_in_scope=("", False))


class Scaled(nn.Cell):
    def __init__(self, number=2.0):
        super().__init__()
        self.w = Parameter(Tensor(np.float32(number)), name="w")

    def construct(self, x, y=1.0):
        return x * self.w + y


class Equal(Scaled):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


class OwnCompile(Scaled):
    def compile(self, *args, **kwargs):
        WAYS.append("own")
        return super().compile(*args, **kwargs)


class Nothing(nn.Cell):
    def construct(self, x):
        return None


class Alone(Scaled):
    def construct(self):
        return self.w * 3.0


class Products(nn.Cell):
    def construct(self, x):
        for _ in range(6):
            x = ops.matmul(x, x)
        return x


class OwnArguments(Scaled):
    def _get_compile_args(self, args):
        WAYS.append("own")
        return super()._get_compile_args(args)


class Two(nn.Cell):
    def construct(self, x, y):
        return x - y, x + y


def number(*shape, value=1.0, dtype=np.float32):
    return Tensor(np.full(shape, value, dtype))


def read(result):
    if isinstance(result, tuple):
        return [read(one) for one in result]
    return (
        None
        if result is None
        else [str(result.dtype), *result.shape, float(result.asnumpy().reshape(-1)[0])]
    )


def thrice(net):
    for _ in range(3):
        yield net, (number(2),)


# each yields the called object repeatedly
def same():
    net = Scaled()
    for value in (1.0, 2.0, -0.0, 5.0):
        yield net, (number(2, value=value),)


def shapes():
    net = Scaled()
    for size in (2, 2, 3, 3, 3, 2, 2):
        yield net, (number(size),)


def ranks():
    net = Scaled()
    for shape in ((4,), (4,), (4, 1), (4, 1), (), ()):
        yield net, (number(*shape),)


def dtypes():
    net = Scaled()
    for dtype in (np.float32, np.float32, np.float16, np.float16, np.int32, np.int32, np.float32):
        yield net, (number(2, dtype=dtype),)


def two_outputs():
    net = Two()
    for value in (1.0, 2.0, 3.0):
        yield net, (number(2, value=value), number(2))


def arguments_change_places():
    net, x, y = Two(), number(2), number(2, value=7.0)
    for pair in ((x, y), (y, x), (x, x), (y, y)):
        yield net, pair


def weights():
    net = Scaled()
    for value in (1.0, 2.0, 3.0):
        net.w.set_data(Tensor(np.float32(value)))
        yield net, (number(2),)


def training():
    net = Scaled()
    for train in (False, False, True, True, False, False):
        net.set_train(train)
        yield net, (number(2),)


def scalars():
    net = Scaled()
    for value in (1.0, 1.0, 2.0, 2, True, 1.0):
        yield net, (number(2), value)


def nothing_given():
    net = Scaled()
    for count in (1, 2, 1, 1, 2, 2):
        yield net, (number(2), number(2, value=5.0))[:count]


def parameters():
    net, one, other = (
        Scaled(),
        Parameter(number(2), name="a"),
        Parameter(number(2, value=3.0), name="b"),
    )
    for given in (number(2), one, one, other, number(2)):
        yield net, (given,)


def constants():
    net = Scaled()
    for value in (1.0, 2.0, 3.0):
        x = Tensor(np.full(2, value, np.float32), const_arg=True)
        yield net, (number(2), x)
        yield net, (number(2), number(2, value=value))


def mutable():
    net = Scaled()
    for value in (1.0, 2.0, 3.0):
        yield net, (number(2), ms.mutable(number(2, value=value)))


def not_there_yet():
    net = Scaled()
    for _ in range(3):
        yield net, (number(2),)
    yield net, (Tensor(shape=(2,), dtype=ms.float32, init=One()),)


def copies():
    net = Scaled()
    yield net, (number(2),)
    yield net, (number(2),)
    other = copy.deepcopy(net)
    other.w.set_data(Tensor(np.float32(9.0)))
    for one in (other, net, other, other, net):
        yield one, (number(2),)


def compiled_between():
    net = Scaled()
    yield net, (number(2),)
    yield net, (number(2),)
    net.compile(number(5))
    yield net, (number(2),)
    yield net, (number(5),)
    yield net, (number(5),)


def called_inside():
    product = Products()
    wide, small = number(1500, 1500, value=1e-3), number(3, 3)
    product.compile(wide)
    product(small)
    signal.signal(signal.SIGALRM, lambda *_: product(small))
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    for _ in range(3):
        yield product, (wide,)
    yield product, (small,)


def forgotten():
    net = Scaled()
    yield net, (number(2),)
    yield net, (number(2),)
    net.compile_cache.clear()
    yield net, (number(2),)


def declared():
    net = Scaled()
    yield net, (number(2),)
    yield net, (number(2),)
    net.set_inputs(Tensor(shape=(None,), dtype=ms.float32))
    yield net, (number(2),)
    yield net, (number(3),)
    yield net, (number(3),)


def equal():
    one, other = Equal(1.0), Equal(5.0)
    for net in (one, other, one, other, other):
        yield net, (number(2),)


def own_compile():
    return thrice(OwnCompile())


def own_arguments():
    return thrice(OwnArguments())


def compile_replaced():
    net = Scaled()
    for _ in range(2):
        yield net, (number(2),)
    net.compile = lambda *args, **kwargs: (
        WAYS.append("own") or type(net).compile(net, *args, **kwargs)
    )
    for _ in range(2):
        yield net, (number(2),)


def nothing():
    return thrice(Nothing())


def without_arguments():
    net = Alone()
    for value in (1.0, 2.0, 3.0):
        net.w.set_data(Tensor(np.float32(value)))
        yield net, ()


def only_compiles():
    net = Scaled()
    yield net, (number(2),)
    yield net, (number(2),)
    os.environ["MS_DEV_PRECOMPILE_ONLY"] = "1"
    yield net, (number(2),)
    del os.environ["MS_DEV_PRECOMPILE_ONLY"]
    yield net, (number(2),)


def wrong():
    net = Two()
    for count in (2, 2, 1, 3, 2, 2):
        yield net, tuple(number(2) for _ in range(count))


def step():
    net = nn.Dense(4, 4, weight_init="one", bias_init="zeros")
    trained = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params(), 0.1)
    ).set_train()
    for _ in range(6):
        yield trained, (number(2, 4, value=0.5), number(2, 4, value=3.0))
    yield net, (number(2, 4),)
    yield trained, (number(2, 4, value=0.5), number(2, 4, value=3.0))


SCENES = (
    same,
    shapes,
    ranks,
    dtypes,
    two_outputs,
    arguments_change_places,
    weights,
    training,
    scalars,
    nothing_given,
    parameters,
    constants,
    mutable,
    not_there_yet,
    copies,
    compiled_between,
    called_inside,
    forgotten,
    declared,
    equal,
    own_compile,
    own_arguments,
    compile_replaced,
    nothing,
    without_arguments,
    only_compiles,
    wrong,
    step,
)


def walked():
    found = {}
    for scene in (one for one in SCENES if one.__name__ in sys.argv[2:]):
        WAYS.clear()
        said = []
        for net, arguments in scene():
            before = len(WAYS)
            try:
                answer = read(net(*arguments))
            except Exception as error:  # noqa: BLE001 - whatever it raises
                answer = f"{type(error).__name__}: {str(error)[:60]}"
            said.append([answer, len(WAYS) == before])
        found[scene.__name__] = said
    return found


original = nn.Cell.compile


def seen(self, *args, **kwargs):
    WAYS.append(type(self).__name__)
    return original(self, *args, **kwargs)


nn.Cell.compile = seen
RESULT["mindspore"] = walked()
fast_call_path.install(NO_SCOPES)
RESULT["ours"] = walked()

net, x = Scaled(), number(2)
for _ in range(3):
    net(x)
ends = weakref.ref(x), weakref.ref(net)
del x
gc.collect()
RESULT["input kept"] = ends[0]() is not None
del net
gc.collect()
RESULT["net kept"] = ends[1]() is not None
net = Scaled()
net(number(2)), net(number(2))
WAYS.clear()
RESULT["by name"] = [read(net(number(2), y=3.0)), read(net(x=number(2)))]
RESULT["ways by name"] = len(WAYS)

answer()
