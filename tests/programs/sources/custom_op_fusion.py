"""Document 000, all of its code in order: fused operators with custom-op."""

# 2.1
import numpy as np


class ElementwiseFusion:
    def __init__(self):
        pass

    def fuse_add_relu(self, x, y):
        """融合Add和ReLU"""
        # 直接计算Add + ReLU
        output = np.maximum(x + y, 0.0)
        return output

    def fuse_mul_sigmoid(self, x, y):
        """融合Mul和Sigmoid"""
        # 直接计算Mul * Sigmoid
        output = x * y / (1.0 + np.exp(-y))
        return output


# 2.2
class ConvFusion:
    def __init__(self):
        pass

    def fuse_conv_bn(
        self, x, conv_weight, conv_bias, bn_weight, bn_bias, bn_mean, bn_var, eps=1e-5
    ):
        """融合卷积和批归一化"""
        # 计算融合后的权重和偏置
        bn_scale = bn_weight / np.sqrt(bn_var + eps)
        bn_shift = bn_bias - bn_mean * bn_scale
        fused_weight = conv_weight * bn_scale.reshape(-1, 1, 1, 1)
        fused_bias = conv_bias * bn_scale + bn_shift
        # 执行卷积
        output = self.conv2d(x, fused_weight, fused_bias)
        return output

    def conv2d(self, x, weight, bias):
        """卷积操作"""
        # 实现卷积
        output = np.zeros(
            (
                x.shape[0],
                weight.shape[0],
                (x.shape[2] - weight.shape[2] + 1),
                (x.shape[3] - weight.shape[3] + 1),
            )
        )
        for b in range(x.shape[0]):
            for o in range(weight.shape[0]):
                for i in range(x.shape[1]):
                    for h in range(output.shape[2]):
                        for w in range(output.shape[3]):
                            for kh in range(weight.shape[2]):
                                for kw in range(weight.shape[3]):
                                    output[b, o, h, w] += (
                                        x[b, i, h + kh, w + kw] * weight[o, i, kh, kw]
                                    )
                output[b, o] += bias[o]
        return output


# 3.1
import custom_ops as cop  # noqa: E402


# 创建融合算子
@cop.register_operator("FusedAddReLU")
class FusedAddReLU(cop.Operator):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        """前向传播"""
        # 融合Add和ReLU
        output = np.maximum(x + y, 0.0)
        return output

    def backward(self, grad_output):
        """反向传播"""
        # 反向传播
        grad_x = grad_output * (self.x + self.y > 0)
        grad_y = grad_output * (self.x + self.y > 0)
        return grad_x, grad_y


# 创建融合算子
@cop.register_operator("FusedConvBN")
class FusedConvBN(cop.Operator):
    def __init__(self, conv_weight, conv_bias, bn_weight, bn_bias, bn_mean, bn_var, eps=1e-5):
        super().__init__()
        # 计算融合后的权重和偏置
        bn_scale = bn_weight / np.sqrt(bn_var + eps)
        bn_shift = bn_bias - bn_mean * bn_scale
        self.fused_weight = conv_weight * bn_scale.reshape(-1, 1, 1, 1)
        self.fused_bias = conv_bias * bn_scale + bn_shift

    def forward(self, x):
        """前向传播"""
        # 执行融合后的卷积
        output = self.conv2d(x, self.fused_weight, self.fused_bias)
        return output

    conv2d = ConvFusion.conv2d  # the text repeats it


# 3.2
class FusionOptimizer:
    def __init__(self):
        pass

    def optimize_fusion(self, graph):
        """优化融合"""
        # 识别融合机会
        fusion_opportunities = self.identify_fusion_opportunities(graph)
        # 应用融合
        for opportunity in fusion_opportunities:
            self.apply_fusion(graph, opportunity)
        return graph

    def identify_fusion_opportunities(self, graph):
        """识别融合机会"""
        opportunities = []
        # 遍历图中的节点
        for node in graph.nodes:
            # 检查是否可以融合
            if self.can_fuse(node):
                opportunities.append(node)
        return opportunities

    def can_fuse(self, node):
        """检查是否可以融合"""
        # 实现融合检查逻辑
        return True

    def apply_fusion(self, graph, node):
        """应用融合"""
        # 实现融合逻辑


# 4.1
class FusionMemoryOptimizer:
    def __init__(self):
        pass

    def optimize_memory(self, fused_op):
        """优化内存使用"""
        # 使用原地操作
        if hasattr(fused_op, "inplace"):
            fused_op.inplace = True
        # 使用共享内存
        if hasattr(fused_op, "use_shared_memory"):
            fused_op.use_shared_memory = True
        return fused_op


# 4.2
class FusionComputeOptimizer:
    def __init__(self):
        pass

    def optimize_compute(self, fused_op):
        """优化计算"""
        # 使用SIMD指令
        if hasattr(fused_op, "use_simd"):
            fused_op.use_simd = True
        # 使用GPU加速
        if hasattr(fused_op, "use_gpu"):
            fused_op.use_gpu = True
        return fused_op


# 5.1
# 创建融合算子
fused_op = cop.FusedAddReLU()
# 前向传播
x = np.random.randn(32, 64)
y = np.random.randn(32, 64)
output = fused_op.forward(x, y)
print(f"Output shape: {output.shape}")
ELEMENTWISE = fused_op, x, y, output

# 5.2
# 创建融合算子
conv_weight = np.random.randn(64, 3, 3, 3)
conv_bias = np.random.randn(64)
bn_weight = np.random.randn(64)
bn_bias = np.random.randn(64)
bn_mean = np.random.randn(64)
bn_var = np.random.randn(64) ** 2
fused_op = cop.FusedConvBN(conv_weight, conv_bias, bn_weight, bn_bias, bn_mean, bn_var)
# 前向传播
x = np.random.randn(32, 3, 32, 32)
output = fused_op.forward(x)
print(f"Output shape: {output.shape}")
CONVOLUTION = (conv_weight, conv_bias, bn_weight, bn_bias, bn_mean, bn_var), x, output
