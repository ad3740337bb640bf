"""PyTorch's DataLoader (decoding in processes) and onnxruntime."""
import sys

import torch
from torch.utils.data import DataLoader, Dataset

import common


class Photos(Dataset):
    def __init__(self, paths, processor):
        self.paths, self.processor = paths, processor

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return torch.from_numpy(self.processor.load(self.paths[i]))


def main():
    args = common.arguments(__doc__).parse_args()
    paths = common.list_photos(args.photos)
    loader = DataLoader(Photos(paths, common.Processor(args.model)), batch_size=args.batch,
                        num_workers=args.workers, prefetch_factor=2)
    batches = iter(loader)  # the workers begin while the model is loaded
    model = common.Model(args.model, args.threads)
    vectors = [model.embed(batch.numpy()) for batch in batches]
    common.write(args.out, paths, vectors)


if __name__ == "__main__":
    sys.exit(main())
