#!/usr/bin/env python3
"""60,000 clipped per-example gradients by PyTorch. Usage: gradients_peer.py VARIANT BATCH FIRST.json

Prints seconds, CPU seconds, the norm of the sum, and how far the first gradient is from ours at its farthest coordinate.
FIRST.json is what our example `epoch first` printed: parameters and the first gradient. VARIANT is one of the keys of
VARIANTS; BATCH examples are differentiated at once. Images, network and parameters are those of
crates/learning/examples/epoch.rs.

Two things differ in layout: we keep the channels of a pixel together, PyTorch the pixels of a channel; and our weights
have a row for each input, PyTorch's for each output.
"""
import json
import os
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy

EXAMPLES, SIDE, BOUND = 60_000, 28, 1.0


def examples():
    """The same images as ours; 2654435769 is 2^32 over the golden ratio."""
    words = (np.arange(EXAMPLES * SIDE * SIDE, dtype=np.uint32) * np.uint32(2654435769)) >> 16
    images = np.where(words % 5 == 0, words.astype(np.float32) / 32768 - 1, np.float32(-1))
    return torch.from_numpy(images).view(EXAMPLES, 1, SIDE, SIDE), torch.arange(EXAMPLES) % 10


def network():
    """Convolutions padded to "same" with the odd zero at the end; pooling before the activation, which is rising."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, stride=2, padding=3), nn.MaxPool2d(2), nn.Tanh(),
        nn.ZeroPad2d((1, 2, 1, 2)), nn.Conv2d(16, 32, 4, stride=2), nn.MaxPool2d(2), nn.Tanh(),
        nn.Flatten(), nn.Linear(128, 32), nn.Tanh(), nn.Linear(32, 10),
    )


def theirs(vector):
    """Parameters, or a gradient, of our layout in PyTorch's: a list of tensors in the order of `network`."""
    vector = torch.tensor(vector)
    sizes = [1024, 16, 8192, 32, 4096, 32, 320, 10]
    w1, b1, w2, b2, w3, b3, w4, b4 = vector.split(sizes)
    return [
        w1.view(8, 8, 1, 16).permute(3, 2, 0, 1), b1, w2.view(4, 4, 16, 32).permute(3, 2, 0, 1), b2,
        w3.view(2, 2, 32, 32).permute(3, 2, 0, 1).reshape(32, 128), b3, w4.view(32, 10).t(), b4,
    ]


def with_vmap(model):
    """torch.func: the gradient of one example's loss, mapped over a batch."""
    parameters = {name: value.detach() for name, value in model.named_parameters()}

    def loss(parameters, image, label):
        return cross_entropy(functional_call(model, parameters, (image[None],)), label[None])

    each = vmap(grad(loss), in_dims=(None, 0, 0))
    return lambda images, labels: list(each(parameters, images, labels).values())


def with_opacus(model):
    """Opacus: hooks that keep what every layer needs for its own per-example gradients."""
    from opacus.grad_sample import GradSampleModule

    model = GradSampleModule(model, loss_reduction="sum")

    def each(images, labels):
        model.zero_grad(set_to_none=True)
        cross_entropy(model(images), labels, reduction="sum").backward()
        gradients = [parameter.grad_sample for parameter in model.parameters()]
        for parameter in model.parameters():
            parameter.grad_sample = None
        return gradients

    return each


VARIANTS = {"vmap": with_vmap, "opacus": with_opacus}


def clipped_sum(each, images, labels, batch):
    total = None
    for some, names in zip(images.split(batch), labels.split(batch)):
        gradients = each(some, names)
        squares = sum(gradient.flatten(1).square().sum(1) for gradient in gradients)
        factors = (BOUND / squares.sqrt()).clamp(max=1.0)
        sums = [torch.tensordot(factors, gradient, 1) for gradient in gradients]
        total = sums if total is None else [one + other for one, other in zip(total, sums)]
    return total


def main():
    variant, batch, first = sys.argv[1], int(sys.argv[2]), json.load(open(sys.argv[3]))
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    model = network()
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), theirs(first["parameters"]), strict=True):
            parameter.copy_(value)
    images, labels = examples()
    each = VARIANTS[variant](model)
    # Once beforehand: what is compiled and allocated the first time is not timed.
    gradient = each(images[:1], labels[:1])
    pairs = zip(gradient, theirs(first["gradient"]), strict=True)
    difference = max(float((one[0] - other).abs().max()) for one, other in pairs)
    each(images[:batch], labels[:batch])
    start, cpu = time.perf_counter(), time.process_time()
    total = clipped_sum(each, images, labels, batch)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    norm = sum(float(part.double().square().sum()) for part in total) ** 0.5
    print(seconds, cpu, norm, difference)


if __name__ == "__main__":
    main()
