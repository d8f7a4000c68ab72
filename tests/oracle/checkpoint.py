#!/usr/bin/python3
"""Reads what a run leaves with a reader of its own, and scores the model again.

usage: checkpoint.py EDGEPS DATA_MAKER
The reader follows the public description of safetensors (length, JSON header, bytes) and
docs/checkpoint-format.md; the model is computed here from the description of its layers.
"""
import array
import glob
import json
import os
import struct
import subprocess
import sys
import tempfile

TEST_IMAGES = 150


def read(path):
    """Tensors by name as (shape, values), and the metadata."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    notes = header.pop("__metadata__", {})
    body, used, tensors = data[8 + length:], [], {}
    for name, about in header.items():
        begin, end = about["data_offsets"]
        values = array.array("f", body[begin:end])
        if sys.byteorder == "big":
            values.byteswap()
        count = 1
        for extent in about["shape"]:
            count *= extent
        assert about["dtype"] == "F32" and count == len(values), name
        used.append((begin, end))
        tensors[name] = (about["shape"], values)
    used.sort()
    assert used[0][0] == 0 and used[-1][1] == len(body), "bytes belong to no tensor"
    assert all(a[1] == b[0] for a, b in zip(used, used[1:])), "tensors overlap or leave a gap"
    assert (8 + length) % 64 == 0
    return tensors, notes


def read_idx(path):
    with open(path, "rb") as file:
        data = file.read()
    dimensions = data[3]
    extents = struct.unpack_from(f">{dimensions}I", data, 4)
    return extents, data[4 + 4 * dimensions:]


def layer(weight, bias, inputs):
    width = weight[0][1]
    return [bias[1][k] + sum(map(float.__mul__, weight[1][k * width:(k + 1) * width], inputs))
            for k in range(weight[0][0])]


def accuracy(tensors, data):
    """Of a perceptron with one hidden layer of rectified units, on MNIST's scale."""
    first, first_bias, second, second_bias = tensors.values()
    (count, rows, columns), images = read_idx(os.path.join(data, "t10k-images-idx3-ubyte"))
    _, labels = read_idx(os.path.join(data, "t10k-labels-idx1-ubyte"))
    right, pixels = 0, rows * columns
    for n in range(count):
        image = [(x / 255 - 0.1307) / 0.3081 for x in images[n * pixels:(n + 1) * pixels]]
        hidden = [max(0.0, x) for x in layer(first, first_bias, image)]
        scores = layer(second, second_bias, hidden)
        right += scores.index(max(scores)) == labels[n]
    return right / count


def check(edgeps, folder, data):
    out = os.path.join(folder, "run")
    network = os.path.join(os.path.dirname(__file__), "../../examples/six-site.json")
    subprocess.run([edgeps, "run", network, "--model", "mlp", "--data", data, "--samples", "600",
                    "--batch", "25", "--epochs", "2", "--rate", "0.004", "--rates", "off", "--out", out],
                   check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(out, "events.jsonl"), encoding="utf-8") as lines:
        events = [json.loads(line) for line in lines]
    told = [e for e in events if e["event"] == "epoch"][-1]
    rounds = next(e["rounds"] for e in events if e["event"] == "start")
    model, notes = read(os.path.join(out, "model.safetensors"))
    assert notes["model"] == "mlp"
    files = glob.glob(os.path.join(out, "checkpoints", "checkpoint-g*-r*.safetensors"))
    assert len(files) == 2
    newest = max(files, key=lambda path: int(path.rsplit("-r", 1)[1].split(".")[0]))
    state, notes = read(newest)
    assert list(state) == ["parameters", "optimizer.velocity"]
    assert (notes["format"], notes["version"], notes["model"]) == ("edgeps-checkpoint", "1", "mlp")
    assert (int(notes["epoch"]), int(notes["round"])) == (2, 2 * rounds)
    assert int(notes["generation"]) == told["generation"]
    flat = array.array("f")
    for _, values in model.values():
        flat.extend(values)
    assert flat == state["parameters"][1], "the model is not the checkpoint's parameters"
    assert any(state["optimizer.velocity"][1])
    scored = accuracy(model, data)
    assert abs(scored - told["accuracy"]) < 0.5 / TEST_IMAGES, (scored, told["accuracy"])
    print(f"accuracy {scored:.4f}, as told; {len(flat)} parameters")


def main():
    edgeps, data_maker = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "data")
        os.mkdir(data)
        subprocess.run([data_maker, data, str(TEST_IMAGES)], check=True)
        check(edgeps, folder, data)


main()
