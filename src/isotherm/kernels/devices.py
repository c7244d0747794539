"""The backend for a device by its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from isotherm._types import DType
from isotherm.errors import IsothermError
from isotherm.kernels.cpu.backend import Cpu

# Torch's own name of the device that a name stands for; that of a GPU is its name.
TORCH = {"torch": "cpu"}


def kernels_on(
    device: object,
    precision: str = "float32",
    n_threads: int | None = None,
    *,
    elsewhere: bool = False,
) -> Any:
    """Kernels for "cpu", "cuda" (or "cuda:1" and so on), or "torch", torch on the CPU.

    Parameters
    ----------
    device : str
    precision : {"float32", "float64", "bfloat16"}
        "bfloat16" is float32 but for what an E-step gathers, and not for "cpu".
    n_threads : int, optional
        All cores by default.
    elsewhere : bool
        Other processes will use them, and this one need not have the device.
    """
    if not isinstance(device, str) or not re.fullmatch(r"cpu|torch|cuda(:\d+)?", device):
        raise IsothermError(
            f"device={device!r}; it must be 'cpu', 'cuda' (or 'cuda:1' for the second GPU and so "
            "on), or 'torch' for torch on the CPU",
            parameter="device",
        )
    if device == "cpu" and precision != "bfloat16":
        return Cpu(precision, n_threads)
    if device == "cpu":
        raise IsothermError(
            "precision='bfloat16' with device='cpu'; only a GPU gains by it: use device='cuda', or "
            "precision='float32'",
            parameter="precision",
        )
    if elsewhere:
        return Elsewhere(device, precision, n_threads)
    try:
        from isotherm.kernels.torch.backend import Torch
    except ImportError as missing:
        raise IsothermError(
            f"device={device!r} needs torch, which is not installed: pip install 'isotherm[gpu]', "
            "or use device='cpu'",
            parameter="device",
        ) from missing
    kind, gathered = ("float32", precision) if precision == "bfloat16" else (precision, "same")
    return Torch(kind, TORCH.get(device, device), gathered, n_threads=n_threads)


@dataclass(frozen=True)
class Elsewhere:
    """Kernels that other processes make for themselves: this one may have no such device.

    Parameters
    ----------
    device, precision, n_threads
        As in `kernels_on`.
    """

    device: str
    precision: str = "float32"
    n_threads: int | None = None

    @property
    def dtype(self) -> DType:
        """Type of the tables."""
        return np.dtype("float32" if self.precision == "bfloat16" else self.precision)

    def made(self) -> Any:
        """The kernels themselves, on a device of the process that asks."""
        return kernels_on(self.device, self.precision, self.n_threads)
