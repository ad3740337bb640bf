#!/usr/bin/env python3
"""Prints the pairs of photos of a store whose vectors are nearest: nearest.py STORE [COUNT]"""
import os
import sqlite3
import sys

import numpy as np


def read_vectors(store):
    """Keys and unit vectors of the newest set of embeddings."""
    if not os.path.exists(store):
        sys.exit(f"{store}: no such store")
    rows = sqlite3.connect(store).execute(
        "SELECT key, vector FROM brim_embeddings JOIN brim_images USING (image)"
        " WHERE set_id = (SELECT max(set_id) FROM brim_embeddings) ORDER BY key").fetchall()
    if len(rows) < 2:
        sys.exit(f"{store}: fewer than two vectors")
    vectors = np.array([np.frombuffer(vector, "<f4") for _, vector in rows])
    return [key for key, _ in rows], vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def nearest_pairs(vectors, count):
    """[(cosine, i, j)] with i < j, the nearest first."""
    cosine = vectors @ vectors.T
    first, second = np.triu_indices(len(vectors), 1)
    order = np.argsort(-cosine[first, second], kind="stable")[:count]
    return [(cosine[i, j], i, j) for i, j in zip(first[order], second[order])]


def main(store, count=10):
    keys, vectors = read_vectors(store)
    # File names come from strangers: what a terminal would obey is shown escaped.
    names = [os.path.basename(key) for key in keys]
    names = ["".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in name) for name in names]
    pairs = nearest_pairs(vectors, int(count))
    width = max(len(names[i]) for _, i, _ in pairs)
    print(f"the {len(pairs)} nearest pairs of {len(names)} photos:")
    for cosine, i, j in pairs:
        print(f"  {cosine:.3f}  {names[i]:{width}}  {names[j]}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
