"""Capture of a live net, with MindSpore's profile, and with MindSpore's errors."""

import threading

import pytest

from ms_fusion.capture.capture_run import _explain_error
from ms_fusion.capture.profiler import read_profile, times_of
from tests.cases import cases


def test_profile_takes_the_median_of_the_runs(tmp_path):
    table = tmp_path / "cpu_op_execute_timestamp_0.txt"
    usual = " ".join(f"{start},0.004,0" for start in range(4))
    table.write_text(
        f"Default/Mul-op0;HostCpuOps;{usual} 9,4.0,0 \nDefault/a;b-op1;HostCpuOps;1,0.5,0\n"
    )
    found = times_of([read_profile(table)])
    assert found == {"Default/Mul-op0": (1.0, 4.0, 0.0), "Default/a;b-op1": (0.2, 500.0, 0.0)}


@cases(
    "told, what, place",
    [
        (
            "\n-----\n- Kernel select failed:\n-----\nSelect CPU operator[Tanh] fail!\n-----\n"
            "In file /x/mindspore/ops/a.py:969, 11~25/    return t(input)/\n"
            "In file /home/me/net.py:78, 15~23/        return ops.tanh(y)/\n"
            "In file /home/me/net.py:76~78, 4~32/    def construct(self, x):/\n",
            "Select CPU operator[Tanh] fail!",
            "/home/me/net.py:78",
        ),
        (
            "For 'MatMul' the input dimensions must be equal.\n\n-----\n"
            "# 0 In file /home/me/net.py:12, 8~20\n        return self.f(x)\n"
            "# 1 In file /home/me/f.py:7, 8~20\n        return a @ b\n"
            "# 2 In file /x/mindspore/nn/layer/basic.py:807, 12~39\n",
            "For 'MatMul' the input dimensions must be equal",
            "/home/me/f.py:7",
        ),
        ("", "ValueError", None),
    ],
)
def test_errors_tell_their_sentence_and_the_users_line(told, what, place):
    error = _explain_error(ValueError(told), "Net")
    assert error.what == f"MindSpore could not compile or run Net: {what}"
    assert error.place == place


@pytest.mark.mindspore
def test_a_cell_that_trains_is_copied_with_its_scopes():
    pytest.importorskip("mindspore", reason="needs MindSpore")
    import mindspore
    from mindspore import nn

    from ms_fusion.capture.net_copy import fresh_function
    from ms_fusion.capture.net_serialization import pack, unpack

    body = nn.Dense(4, 4)
    optimizer = nn.Momentum(body.trainable_params(), 0.1, 0.9)
    net = nn.TrainOneStepCell(nn.WithLossCell(body, nn.MSELoss()), optimizer)
    content = pack(net, ())
    assert content is not None
    for twin in (fresh_function(net), unpack(content)[0]):
        assert isinstance(twin, nn.TrainOneStepCell)
        ours = {one.name: one for one in twin.network.get_parameters()}
        assert len(ours) == 2
        assert all(ours[one.name] is one for one in twin.optimizer.parameters)
        assert all(ours[one.name] is not one for one in body.get_parameters())

    body.lock = threading.Lock()  # cannot be copied: a compiled function calls the Cell
    x = mindspore.Tensor([[1.0, 2.0, 3.0, 4.0]], mindspore.float32)
    assert fresh_function(body)(x).shape == (1, 4)
