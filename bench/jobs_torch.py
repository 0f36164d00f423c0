"""The jobs of compare_jobs.py in PyTorch: jobs_torch.py JOB THREADS SEED DATA...; prints a line of JSON.

Each is the usual program for its job: a DataLoader with worker processes over the same files, the
network of the example, the same optimizer, batch size and number of epochs."""
import csv
import json
import sys
import time
import wave

import numpy as np
import torch
from torch import nn


def initialize(net):
    """He-uniform weights and zero biases, as the prepared model has them; Conv1d stays uniform."""
    for layer in net.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear, nn.ConvTranspose2d)):
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)


def cosine(optimizer, _, steps):
    return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)


def one_cycle(optimizer, rate, steps):
    return torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, steps, cycle_momentum=False)


def fit(net, batches, loss, rate, epochs, schedule=None, clip_norm=None):
    initialize(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    schedule = schedule and schedule(optimizer, rate, epochs * len(batches))
    net.train()
    for _ in range(epochs):
        for x, y in batches:
            optimizer.zero_grad()
            loss(net(x), y).backward()
            if clip_norm:
                nn.utils.clip_grad_norm_(net.parameters(), clip_norm)
            optimizer.step()
            if schedule:
                schedule.step()
    net.eval()


def loader(data, size, threads, shuffle=True):
    # BatchNorm1d does not train on one row.
    return torch.utils.data.DataLoader(data, size, shuffle=shuffle, num_workers=threads,
                                       persistent_workers=threads > 0,
                                       drop_last=shuffle and len(data) % size == 1)


@torch.no_grad()
def outputs(net, batches):
    pairs = [(net(x), y) for x, y in batches]
    return torch.cat([a for a, _ in pairs]), torch.cat([b for _, b in pairs])


def accuracy(net, batches):
    found, label = outputs(net, batches)
    return (found.argmax(1) == label).float().mean().item()


def image_folder(threads, data):
    from torchvision import datasets, transforms
    to_tensor = [transforms.Grayscale(), transforms.ToTensor()]
    train = datasets.ImageFolder(f"{data}/train", transforms.Compose(
        [transforms.RandomHorizontalFlip(), *to_tensor]))
    test = datasets.ImageFolder(f"{data}/val", transforms.Compose(to_tensor))
    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                        nn.Linear(32 * 49, 128), nn.ReLU(), nn.Linear(128, 10))
    fit(net, loader(train, 64, threads), nn.CrossEntropyLoss(), 0.001, 3)
    return {"accuracy": accuracy(net, loader(test, 64, threads, False))}


def table(path, classes=None):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))[1:]
    x = torch.tensor([[float(value) for value in row[:-1]] for row in rows])
    if classes is None:
        return torch.utils.data.TensorDataset(x, torch.tensor([[float(row[-1])] for row in rows]))
    return torch.utils.data.TensorDataset(x, torch.tensor([classes.index(row[-1]) for row in rows]))


def mlp(columns, results):
    return nn.Sequential(nn.BatchNorm1d(columns), nn.Linear(columns, 32), nn.ReLU(),
                         nn.Linear(32, results))


def cancer(_, train, test):
    classes = ["benign", "malignant"]
    net = mlp(30, 2)
    fit(net, loader(table(train, classes), 32, 0), nn.CrossEntropyLoss(), 0.003, 40)
    return {"accuracy": accuracy(net, loader(table(test, classes), 32, 0, False))}


def diabetes(_, train, test):
    net = mlp(10, 1)
    fit(net, loader(table(train), 32, 0), nn.MSELoss(), 0.02, 80)
    found, label = outputs(net, loader(table(test), 32, 0, False))
    return {"rmse": ((found - label) ** 2).mean().sqrt().item()}


def digits(_, train, test):
    def rows(path):
        with np.load(path) as arrays:
            return torch.utils.data.TensorDataset(torch.from_numpy(arrays["features"]),
                                                  torch.from_numpy(arrays["label"]))
    net = mlp(64, 10)
    fit(net, loader(rows(train), 32, 0), nn.CrossEntropyLoss(), 0.01, 40, cosine)
    return {"accuracy": accuracy(net, loader(rows(test), 32, 0, False))}


class Recordings(torch.utils.data.Dataset):
    """Two seconds at 8000 samples a second, moved by up to 0.1 s and with noise for training."""

    def __init__(self, folder, augment):
        from torchvision.datasets import DatasetFolder
        self.files = DatasetFolder(folder, lambda path: path, extensions=(".wav",)).samples
        self.augment = augment

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        path, label = self.files[i]
        with wave.open(path) as file:
            sound = np.frombuffer(file.readframes(16000), np.int16)
        samples = torch.zeros(16000)
        samples[:len(sound)] = torch.from_numpy(sound / np.float32(32768))
        if self.augment:
            by = int(torch.randint(-800, 801, ()))
            samples = torch.roll(samples, by)
            if by >= 0:
                samples[:by] = 0
            else:
                samples[by:] = 0
            level = 0.05 * torch.rand(()) * samples.square().mean().sqrt()
            samples += level * torch.randn(16000)
        return samples, label


def mel_weights(bands, window, rate, low, high):
    """After the definition of ONNX's MelWeightMatrix: corners are bins, the last one is a step
    below the highest frequency."""
    mel = lambda hertz: 2595 * np.log10(1 + hertz / 700)
    step = (mel(high) - mel(low)) / (bands + 2)
    points = 700 * (10 ** ((mel(low) + step * np.arange(bands + 2)) / 2595) - 1)
    corners = np.floor((window + 1) * points / rate).astype(int)
    weights = np.zeros((window // 2 + 1, bands), np.float32)
    for band in range(bands):
        left, center, right = corners[band:band + 3]
        if center == left:
            weights[center, band] = 1
        for at in range(left, center):
            weights[at, band] = (at - left) / (center - left)
        for at in range(center, right):
            weights[at, band] = (right - at) / (right - center)
    return torch.from_numpy(weights)


class LogMel(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(256))
        self.register_buffer("mel", mel_weights(40, 256, 8000, 60, 4000))

    def forward(self, x):
        spectrum = torch.stft(x, 256, 128, window=self.window, center=False, return_complex=True)
        power = spectrum.real ** 2 + spectrum.imag ** 2
        bands = torch.log(power.transpose(1, 2) @ self.mel + 1e-6)
        return ((bands + 4) / 4).transpose(1, 2).unsqueeze(1)


def language(threads, data):
    layers = []
    for before, after in ((1, 16), (16, 32), (32, 64)):
        layers += [nn.Conv2d(before, after, 3, 2, 1), nn.BatchNorm2d(after), nn.ReLU()]
    net = nn.Sequential(LogMel(), *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 4))
    fit(net, loader(Recordings(f"{data}/train", True), 32, threads), nn.CrossEntropyLoss(), 0.002,
        12, cosine)
    return {"accuracy": accuracy(net, loader(Recordings(f"{data}/val", False), 32, threads, False))}


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        conv = lambda a, b: nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.ReLU())
        self.down = nn.Sequential(conv(3, 16), conv(16, 16))
        self.middle = nn.Sequential(nn.MaxPool2d(2), conv(16, 32), conv(32, 32))
        self.up = nn.ConvTranspose2d(32, 16, 2, 2)
        self.last = nn.Sequential(conv(32, 16), nn.Conv2d(16, 3, 1))

    def forward(self, x):
        fine = self.down(x.float() / 255)
        return self.last(torch.cat([fine, self.up(self.middle(fine))], 1))


class Masks(torch.utils.data.Dataset):
    def __init__(self, folder, part, augment):
        self.images = torch.from_numpy(np.load(f"{folder}/image_{part}.npy"))
        self.masks = torch.from_numpy(np.load(f"{folder}/mask_{part}.npy")).long()
        self.augment = augment

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image, mask = self.images[i], self.masks[i]
        for axis in (1, 2):
            if self.augment and torch.rand(()) < 0.5:
                image, mask = image.flip(axis), mask.flip(axis - 1)
        return image, mask


def segmentation(threads, data):
    net = UNet()
    fit(net, loader(Masks(data, "train", True), 16, threads), nn.CrossEntropyLoss(), 0.004, 15)
    found, label = outputs(net, loader(Masks(data, "test", False), 16, threads, False))
    found = found.argmax(1)
    ious = []
    for one in range(3):
        both = ((found == one) & (label == one)).sum()
        ious.append((both / ((found == one) | (label == one)).sum()).item())
    return {"iou": sum(ious) / len(ious)}


class Mails(torch.utils.data.Dataset):
    """Texts by bytes, cut off at 512 or padded with 0 at the end."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.mails = [json.loads(line) for line in file]

    def __len__(self):
        return len(self.mails)

    def __getitem__(self, i):
        text = self.mails[i]["text"].encode()[:512]
        ids = torch.zeros(512, dtype=torch.int64)
        ids[:len(text)] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        return ids, int(self.mails[i]["label"] == "spam")


class Spam(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(256, 16)
        self.layers = nn.Sequential(nn.Conv1d(16, 48, 5), nn.ReLU(), nn.MaxPool1d(3),
                                    nn.Conv1d(48, 48, 5), nn.ReLU(), nn.AdaptiveMaxPool1d(1),
                                    nn.Flatten(), nn.Linear(48, 2))

    def forward(self, ids):
        return self.layers(self.embedding(ids).transpose(1, 2))


def spam(threads, train, test):
    mails = Mails(train)
    spams = sum(mail["label"] == "spam" for mail in mails.mails)
    weights = len(mails) / (2 * torch.tensor([len(mails) - spams, spams]).float())
    net = Spam()
    fit(net, loader(mails, 32, threads), nn.CrossEntropyLoss(weights), 0.002, 6, one_cycle)
    return {"accuracy": accuracy(net, loader(Mails(test), 32, threads, False))}


class NextCharacter(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(256, 48)
        self.gru = nn.GRU(48, 192, batch_first=True)
        self.head = nn.Linear(192, 256)

    def forward(self, ids):
        return self.head(self.gru(self.embedding(ids))[0]).transpose(1, 2)


def next_character(_, train, test):
    def windows(path):
        with open(path, "rb") as file:
            ids = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).long()
        count = (len(ids) - 1) // 64
        return torch.utils.data.TensorDataset(ids[:count * 64].view(count, 64),
                                              ids[1:count * 64 + 1].view(count, 64))

    net = NextCharacter()
    loss = nn.CrossEntropyLoss()
    fit(net, loader(windows(train), 32, 0), loss, 0.004, 2, cosine, clip_norm=1)
    found, label = outputs(net, loader(windows(test), 32, 0, False))
    return {"perplexity": loss(found, label).exp().item()}


def main():
    job, threads, seed, data = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    start = time.perf_counter()
    result = globals()[job](threads, *data)
    print(json.dumps({"seconds": time.perf_counter() - start, **result}))


if __name__ == "__main__":
    main()
