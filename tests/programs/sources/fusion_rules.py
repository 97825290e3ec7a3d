"""The rules of document 003, «1. 计算图分析» and «坑 2», verbatim."""

fusion_rules = [
    # 规则 1：LayerNorm + 线性投影 → 融合
    {
        "pattern": ["LayerNorm", "Linear"],
        "condition": lambda a, b: a.output_shape == b.input_shape,
        "fusion_type": "operator_inner",
    },
    # 规则 2：线性投影 + 激活 → 融合
    {
        "pattern": ["Linear", "Activation"],
        "condition": lambda a, b: True,
        "fusion_type": "operator_inner",
    },
    # 规则 3：Attention + FFN → 流水线并行
    {
        "pattern": ["Attention", "FFN"],
        "condition": lambda a, b: True,
        "fusion_type": "pipeline",
    },
]
fusion_rules.append({"constraint": "L1_usage < 0.8 * L1_capacity"})
