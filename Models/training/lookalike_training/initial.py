"""Initial weights of a run: a checkpoint's, or those of an exported model."""

import json

import torch

from .export import run
from .network import ConvBN
from .safetensors import read_safetensors


def load_initial(network, path, images):
    """Loads a checkpoint's averaged weights where shapes fit, or the weights of a safetensors file. Batch normalization
    is folded in the latter; it is unfolded with the statistics of `images` (normalized). Returns how many tensors."""
    if str(path).endswith(".safetensors"):
        return unfold(network, *read_safetensors(path), images)
    shapes = {name: tensor.shape for name, tensor in network.state_dict().items()}
    initial = torch.load(path, map_location="cpu")["average"]
    fitting = {name: tensor for name, tensor in initial.items() if shapes.get(name) == tensor.shape}
    network.load_state_dict(fitting, strict=False)
    return len(fitting)


@torch.no_grad()
def unfold(network, metadata, arrays, images):
    """Recovers batch normalization. A folded filter w with bias b becomes the unit filter w / |w| and a normalization
    with the statistics of that filter on `images`: the same function in evaluation, and one that trains further."""
    tensors = {name: torch.tensor(array).float() for name, array in arrays.items()}
    graph = json.loads(metadata["lookalike.graph"])
    network.pool.power.fill_(next(node["power"] for node in graph["nodes"] if node["op"] == "generalized_mean"))
    hooks = []
    for name, module in network.named_modules():
        if isinstance(module, ConvBN):
            # The file counts the locator's layers without the list they are in.
            name = name.replace("locator.hidden.", "locator.")
            weight, bias = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
            length = weight.flatten(1).norm(dim=1).clamp(min=1e-6)
            module[0].weight.copy_(weight / length.view(-1, 1, 1, 1))
            hooks.append(module[1].register_forward_pre_hook(statistics_from_input(length, bias)))
        elif name in ("projection", "locator.votes"):
            module.weight.copy_(tensors[f"{name}.weight"])
            module.bias.copy_(tensors[f"{name}.bias"])
    training = network.training
    network.eval()(images)
    for hook in hooks:
        hook.remove()
    some = images[:8]
    apart = (network(some)[0].cpu() - run(graph, tensors, some.cpu())[0]).abs().max().item()
    network.train(training)
    if not apart < 1e-3:
        raise SystemExit(f"the model's prints cannot be made with this architecture: {apart:.1e} apart")
    return len(tensors)


def statistics_from_input(length, bias):
    def hook(norm, inputs):
        mean, variance = inputs[0].mean((0, 2, 3)), inputs[0].var((0, 2, 3))
        length_, bias_ = length.to(mean.device), bias.to(mean.device)
        norm.running_mean.copy_(mean)
        norm.running_var.copy_(variance)
        norm.weight.copy_(length_ * torch.sqrt(variance + norm.eps))
        norm.bias.copy_(bias_ + length_ * mean)

    return hook
