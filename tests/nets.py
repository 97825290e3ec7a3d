"""Small nets that the tests compile with real MindSpore, each for one purpose."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops


def floats(*shape: int, seed: int = 0) -> Tensor:
    """A float32 Tensor of normal values."""
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


class MyNet(nn.Cell):
    """The first example of MindSpore's own documentation: Mul and Add become one kernel."""

    def construct(self, x):
        a = ops.mul(x, 2.0)
        return ops.add(a, 1.0)


class MyOp(nn.Cell):
    """A composite of two basic operators."""

    def construct(self, x, y):
        a = ops.sub(x, y)
        return ops.mul(a, x)


class CompositeNet(nn.Cell):
    """`MyOp` among other operators: fused across its boundary."""

    def __init__(self):
        super().__init__()
        self.my_op = MyOp()

    def construct(self, x, y):
        a = ops.mul(x, 2.0)
        b = ops.pow(a, 3.0)
        return self.my_op(b, y)


class ConvBNReLU(nn.Cell):
    """Convolution, inference batch norm, activation."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.bn = nn.BatchNorm2d(8)
        self.relu = nn.ReLU()
        self.set_train(False)

    def construct(self, x):
        return self.relu(self.bn(self.conv(x)))


class MatMulBiasReLU(nn.Cell):
    """A dense layer with its activation."""

    def __init__(self):
        super().__init__()
        self.weight = Parameter(floats(64, 32, seed=1), name="weight")
        self.bias = Parameter(floats(32, seed=2), name="bias")

    def construct(self, x):
        return ops.relu(ops.bias_add(ops.matmul(x, self.weight), self.bias))


class Softmax(nn.Cell):
    """Softmax of a scaled input."""

    def construct(self, x):
        return ops.softmax(x * 0.125, -1)


class LayerNormAdd(nn.Cell):
    """Residual and layer norm."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm((64,))

    def construct(self, x, y):
        return self.norm(x + y)


class NearlyNorms(nn.Cell):
    """A layer norm whose variance is over axis 1, twice, and a GELU with a wrong constant."""

    def construct(self, x):
        y = ops.tanh(0.7978845608 * (x + 0.05 * x**3))
        y = self.norm(self.norm(0.5 * x * (1 + y)))
        return ops.softmax(0.125 * y, 0)

    def norm(self, x):
        centred = x - ops.mean(x, -1, True)
        variance = ops.mean(centred * centred, 1, True)
        return centred / ops.sqrt(variance + 1e-5)


class Branch(nn.Cell):
    """Control flow on a value cuts the graph in pieces."""

    def construct(self, x):
        y = x * 2.0 + 1.0
        if y.sum() > 0:
            y = y * 3.0 - x
        else:
            y = y / 2.0 + x
        return y + 1.0


class Block(nn.Cell):
    """A small transformer block."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.q, self.k, self.v = (
            nn.Dense(width, width),
            nn.Dense(width, width),
            nn.Dense(width, width),
        )
        self.o = nn.Dense(width, width)
        self.up, self.down = nn.Dense(width, 4 * width), nn.Dense(4 * width, width)
        self.heads, self.head_width = heads, width // heads

    def construct(self, x):
        b, s, d = x.shape
        y = self.norm1(x)
        q = self.q(y).reshape(b, s, self.heads, self.head_width).transpose(0, 2, 1, 3)
        k = self.k(y).reshape(b, s, self.heads, self.head_width).transpose(0, 2, 3, 1)
        v = self.v(y).reshape(b, s, self.heads, self.head_width).transpose(0, 2, 1, 3)
        scores = ops.softmax(ops.matmul(q, k) / self.head_width**0.5, -1)
        y = ops.matmul(scores, v).transpose(0, 2, 1, 3).reshape(b, s, d)
        x = x + self.o(y)
        y = self.up(self.norm2(x))
        return x + self.down(y * ops.sigmoid(y))


class Chain(nn.Cell):
    """`length` pairs of operators, each before a matrix product: about 4 · `length` nodes."""

    def __init__(self, length=125, width=32):
        super().__init__()
        self.weight = Parameter(floats(width, width, seed=3) * 0.1, name="weight")
        self.length = length

    def construct(self, x):
        for step in range(self.length):
            x = ops.matmul(ops.tanh(x * (1.0 + 0.001 * step) + 0.5), self.weight)
        return x


def training_step():
    """A plain function that trains a two-layer net with Adam: forward, gradients and update."""
    net = nn.SequentialCell(nn.Dense(32, 64), nn.ReLU(), nn.Dense(64, 8))
    optimizer = nn.Adam(net.trainable_params(), 1e-3)

    def forward(x, y):
        return ((net(x) - y) ** 2).mean()

    gradient = ms.value_and_grad(forward, None, optimizer.parameters)

    def step(x, y):
        loss, gradients = gradient(x, y)
        optimizer(gradients)
        return loss

    return step, net, optimizer


CASES = {
    "MyNet": (MyNet, [(64, 128)]),
    "CompositeNet": (CompositeNet, [(64, 128), (64, 128)]),
    "ConvBNReLU": (ConvBNReLU, [(2, 3, 16, 16)]),
    "MatMulBiasReLU": (MatMulBiasReLU, [(128, 64)]),
    "Softmax": (Softmax, [(256, 128)]),
    "LayerNormAdd": (LayerNormAdd, [(128, 64), (128, 64)]),
    "Branch": (Branch, [(64, 128)]),
    "Block": (Block, [(4, 32, 64)]),
    "TrainingStep": (lambda: training_step()[0], [(128, 32), (128, 8)]),
}
"""Name → (maker, shapes of its inputs): the nets whose ledgers are golden."""


def make_case(name: str):
    """The net `name` and its inputs."""
    maker, shapes = CASES[name]
    ms.manual_seed(0)
    return maker(), tuple(floats(*shape, seed=number) for number, shape in enumerate(shapes))
