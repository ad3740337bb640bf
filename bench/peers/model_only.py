"""The model alone: as many pictures as there are photos, all of them the same noise. A limit, not a peer."""
import sys

import numpy as np

import common


def main():
    args = common.arguments(__doc__).parse_args()
    n_left = len(common.list_photos(args.photos))
    model = common.Model(args.model, args.threads)
    shape = [d if isinstance(d, int) else 224 for d in model.input.shape[2:]]
    batch = np.random.default_rng(0).standard_normal((args.batch, 3, *shape), np.float32)
    while n_left > 0:
        model.embed(batch[:n_left])
        n_left -= args.batch


if __name__ == "__main__":
    sys.exit(main())
