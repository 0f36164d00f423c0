# SPDX-License-Identifier: Apache-2.0
"""The methods of a training model, computed in PyTorch; shares no code with reference/."""

import onnx
from onnx import numpy_helper

from generate import torch_graph


class TorchSession:
    def __init__(self, model):
        self.model = model
        self.functions = {(one.domain, one.name): one for one in model.functions}
        self.variables = {}
        self.initialize(graphs=False)

    def constants(self, graph):
        found = {
            one.name: torch_graph.to_torch(numpy_helper.to_array(one)) for one in graph.initializer
        }
        for one in graph.sparse_initializer:
            values = torch_graph.to_torch(numpy_helper.to_array(one.values))
            places = torch_graph.to_torch(numpy_helper.to_array(one.indices))
            size = tuple(one.dims)
            flat = torch_graph.flat_places(places, size)
            found[one.values.name] = (
                values.new_zeros(size).view(-1).index_put((flat,), values).view(size)
            )
        return found

    def initialize(self, graphs=True):
        names = set()
        for info in self.model.training_info:
            names.update(one.key for one in info.update_binding)
            names.update(one.key for one in info.initialization_binding)
        algorithms = [info.algorithm for info in self.model.training_info]
        for graph in [self.model.graph] + algorithms:
            values = self.constants(graph)
            self.variables.update((name, values[name]) for name in names & set(values))
        for info in self.model.training_info if graphs else ():
            scope = self.scope([self.model.graph], {})
            inner = torch_graph.Scope(
                info.initialization.node, self.constants(info.initialization), self.functions, scope
            )
            found = [
                (one.key, inner.get(one.value).detach()) for one in info.initialization_binding
            ]
            self.variables.update(found)

    def scope(self, graphs, feeds):
        leaves = {}
        for graph in graphs:
            leaves.update(self.constants(graph))
        for name, value in self.variables.items():
            if name in leaves:
                leaves[name] = value
        leaves.update((name, torch_graph.to_torch(value)) for name, value in feeds.items())
        nodes = [node for graph in graphs for node in graph.node]
        return torch_graph.Scope(nodes, leaves, self.functions)

    def train(self, index, feeds, outputs):
        info = self.model.training_info[index]
        scope = self.scope([self.model.graph, info.algorithm], feeds)
        results = {name: scope.get(name).detach().numpy() for name in outputs}
        updated = {one.key: scope.get(one.value).detach() for one in info.update_binding}
        self.variables.update(updated)
        return results

    def infer(self, feeds, outputs):
        scope = self.scope([self.model.graph], feeds)
        return {name: scope.get(name).detach().numpy() for name in outputs}

    @property
    def state(self):
        return {name: value.numpy() for name, value in self.variables.items()}


def session_of(model):
    return TorchSession(onnx.ModelProto.FromString(model.SerializeToString()))
