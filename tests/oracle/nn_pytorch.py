#!/usr/bin/python3
"""Compares the gradients of src/nn with PyTorch's, for the same weights and batch.

usage: nn_pytorch.py NN_DUMP   (the program built from nn_dump.c)
Ends with status 1 when a loss or a gradient (its norm, and its worst value against the largest)
differs by more than 1e-5, relative.
"""
import struct
import subprocess
import sys

try:
    import torch
    from torch import nn
except ImportError as error:
    sys.exit(f"nn_pytorch: PyTorch is needed (Debian: python3-torch): {error}")

TOLERANCE = 1e-5


def lenet5():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


class Block(nn.Module):
    """Two convolutions and a skip, which takes every second value and adds channels of zeros (option A)."""

    def __init__(self, before, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.stride, self.more = stride, channels - before

    def forward(self, x):
        inner = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        skip = nn.functional.pad(x[:, :, ::self.stride, ::self.stride], (0, 0, 0, 0, 0, self.more))
        return torch.relu(inner + skip)


def resnet20():
    layers = [nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    before = 16
    for channels in (16, 32, 64):
        for _ in range(3):
            layers.append(Block(before, channels, channels // before))
            before = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def floats(self, count):
        part = torch.frombuffer(bytearray(self.data[self.at:self.at + 4 * count]), dtype=torch.float32)
        self.at += 4 * count
        return part

    def raw(self, form):
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values


def reference(model, parameters, images, labels):
    nn.utils.vector_to_parameters(parameters.clone(), model.parameters())
    loss = nn.functional.cross_entropy(model(images), labels, reduction="sum")
    model.zero_grad()
    loss.backward()
    return loss.item(), torch.cat([p.grad.reshape(-1) for p in model.parameters()])


def compare(dump, name, model, batch, side, seed):
    channels = 3 if name == "resnet20" else 1
    command = [dump, name, str(batch), str(seed), str(side)]
    data = subprocess.run(command, check=True, capture_output=True).stdout
    read = Reader(data)
    count, batch = read.raw("<II")
    parameters = read.floats(count)
    images = read.floats(batch * channels * side * side).reshape(batch, channels, side, side)
    labels = torch.tensor(read.raw(f"<{batch}B"))
    loss, gradient = reference(model, parameters, images, labels)
    good = True
    for backend in ("ref", "dnnl"):
        (own_loss,) = read.raw("<d")
        own = read.floats(count)
        off = max(((own - gradient).norm() / gradient.norm()).item(),
                  ((own - gradient).abs().max() / gradient.abs().max()).item())
        off_loss = abs(own_loss - loss) / loss
        fits = off <= TOLERANCE and off_loss <= TOLERANCE
        good = good and fits
        print(f"{name:8} batch {batch:3} {backend:5} gradient {off:.1e} loss {off_loss:.1e}",
              "" if fits else "  TOO FAR")
    return good


def main():
    torch.set_num_threads(1)
    plain = (1, 28), (7, 28), (64, 28)
    # Among millions of ReLUs one lies within rounding of 0, where both slopes are right: fewer samples, or small ones.
    residual = (1, 32), (3, 28), (16, 8)
    results = [compare(sys.argv[1], name, make(), batch, side, seed)
               for name, make, sizes in (("lenet5", lenet5, plain), ("mlp", mlp, plain),
                                         ("resnet20", resnet20, residual))
               for seed, (batch, side) in enumerate(sizes, 1)]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
