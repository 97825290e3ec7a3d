"""The graph of document 003, «1. 计算图分析», verbatim."""


class ComputionGraph:
    def __init__(self):
        self.nodes = []  # 算子节点
        self.edges = []  # 数据依赖边

    def add_node(self, op):
        self.nodes.append(op)

    def add_edge(self, src, dst):
        self.edges.append((src, dst))

    def visualize(self):
        # 可视化计算图
        pass


graph = ComputionGraph()
graph.add_node("QKV_proj")
graph.add_node("Attention")
graph.add_node("O_proj")
graph.add_node("LayerNorm1")
graph.add_node("Add1")
graph.add_edge("QKV_proj", "Attention")
graph.add_edge("Attention", "O_proj")
graph.add_edge("O_proj", "Add1")
graph.add_edge("Add1", "LayerNorm1")
