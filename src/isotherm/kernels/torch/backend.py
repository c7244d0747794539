"""Kernels in torch: blocks, rows and tables stay on a device, a GPU or the CPU.

Sums over non-zeros are Triton's on a GPU (`triton_sums`), plain torch elsewhere (`torch_sums`);
dense steps are torch's. Results do not change from run to run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
import torch

from isotherm._types import DType
from isotherm.data.base import Block
from isotherm.data.vectors import VectorBlock
from isotherm.errors import IsothermError
from isotherm.kernels.base import Array, BlockT, LeaveOneOut, NodeSums, PairSums, PathSums, RowSums
from isotherm.kernels.cpu.backend import TINY
from isotherm.kernels.reference import LOG_FLOOR
from isotherm.kernels.torch import dense, leave_one_out
from isotherm.kernels.torch import paths as torch_paths
from isotherm.kernels.torch import sums as torch_sums
from isotherm.kernels.torch.array import DTYPES, DeviceArray, placed, tensor_of
from isotherm.kernels.torch.linked import LinkedTorch
from isotherm.kernels.torch.pattern import Pattern, pattern_of

# Rows whose sum is one term of the total of a table.
RUN = 64
# Numbers of an (nnz, K) array that exist at a time where pairs are redone in log space.
REDONE_AT_ONCE = 1 << 24


@dataclass(frozen=True)
class Torch(LinkedTorch):
    """Torch backend; satisfies `isotherm.kernels.base.Kernels`.

    Parameters
    ----------
    precision : {"float32", "float64"}
        Type of the tables. Energies, masses and long sums are float64 either way.
    device : str
        A device of torch: "cuda", "cuda:1", "cpu".
    gathered : {"same", "bfloat16"}
        Type of what `pair` gathers for each non-zero. bfloat16 halves the bytes and rounds the
        tables of an E-step to three digits.
    triton : bool, optional
        Whether sums over non-zeros are Triton's; by default on a GPU.
    n_threads : int, optional
        Threads of what others do on the host; all cores by default.
    """

    precision: str = "float32"
    device: str = "cuda"
    gathered: str = "same"
    triton: bool | None = None
    n_threads: int | None = None

    def __post_init__(self) -> None:
        """Refuse a GPU that is not there."""
        if self.place.type == "cuda" and (self.place.index or 0) >= torch.cuda.device_count():
            raise IsothermError(
                f"device={self.device!r}, but torch finds no such GPU; use device='cpu', or "
                "install NVIDIA's driver and a build of torch for CUDA",
                parameter="device",
            )

    def __reduce__(self) -> tuple[object, ...]:
        """Its settings alone: what is made of them is made anew in another process."""
        return Torch, (self.precision, self.device, self.gathered, self.triton, self.n_threads)

    @property
    def dtype(self) -> DType:
        """Type of the tables."""
        return np.dtype(self.precision)

    @cached_property
    def place(self) -> torch.device:
        """The device."""
        found = torch.device(self.device)
        if found.type == "cuda" and found.index is None and torch.cuda.is_available():
            return torch.device("cuda", torch.cuda.current_device())
        return found

    @cached_property
    def _kind(self) -> torch.dtype:
        return DTYPES[self.dtype]

    @cached_property
    def _sums(self) -> ModuleType:
        if self.place.type == "cuda" if self.triton is None else self.triton:
            return _triton_sums()
        return torch_sums

    def prepare(self, block: BlockT) -> BlockT:
        """Block on the device, with values of the tables' type."""
        weight = placed(tensor_of(block.weight, self.place), self.place)
        values = self._array(block.values)
        if isinstance(block, VectorBlock):
            present = None if block.present is None else self._array(block.present)
            return replace(block, values=values, weight=weight, present=present)
        indptr, indices = (
            placed(tensor_of(part, self.place), self.place)
            for part in (block.indptr, block.indices)
        )
        made = replace(block, indptr=indptr, indices=indices, values=values, weight=weight)
        self._add_totals(made)
        return made

    def power(self, table: Array, beta: float, log_scale: Array) -> Array:
        """`table ** beta * exp(log_scale)`."""
        found = self._tensor(table)
        if beta == 1.0 and not np.any(log_scale):
            return self._result(found)
        scale = np.append(np.asarray(log_scale, np.float64), beta)
        return self._result(self._sums.power(found, tensor_of(scale, self.place, self._kind)))

    def logs(self, table: Array, factor: float) -> Array:
        """`factor * log(table)`."""
        kind = DTYPES[np.dtype(table.dtype)]
        found = torch.log(tensor_of(table, self.place, kind))
        return self._result(found.clamp_(min=LOG_FLOOR).to(self._kind).mul_(factor))

    def totals(self, table: Array) -> Array:
        """Sum of each column of a table."""
        found = tensor_of(table, self.place)
        whole = len(found) // RUN * RUN
        runs = found[:whole].reshape(-1, RUN, found.shape[1]).sum(dim=1)
        rest = found[whole:].sum(dim=0, dtype=torch.float64)
        return self._result(runs.sum(dim=0, dtype=torch.float64) + rest)

    def scaled(self, table: Array, factor: Array) -> Array:
        """`table * factor`."""
        return self._result(self._tensor(table) * self._tensor(factor))

    def pair(self, block: Block, U: Array, V: Array, rest: Array | None = None) -> PairSums:
        """Posterior per non-zero; one pass over rows, one over columns."""
        pattern, tiny = pattern_of(block, self.place), TINY[self.dtype]
        heavy, u, v = (self._tensor(x) for x in (block.weighted, U, V))
        if self.gathered == "bfloat16":
            u, v = u.bfloat16(), v.bfloat16()
        more = None if rest is None else self._rest(block, rest)
        half = self._sums.pair_rows(pattern, heavy, u, v, more, tiny, self._kind)
        columns = self._sums.column_sums(pattern, half.ratio, u, v).to(self._kind)
        # The host waits for the device only now that it has all there is to do.
        sums = half.log_z.sum(), half.left.sum().double(), half.lost.sum().double()
        log_z, left, lost = torch.stack(sums).tolist()
        rows = half.rows
        if lost:
            again = self._redo(pattern, heavy, u, v, more, half.ratio, rows, columns)
            log_z, left = log_z + again[0], left + again[1]
        return PairSums(self._result(rows), self._result(columns), log_z, left)

    def row(self, block: Block, logs: Array, prior: Array, hard: bool = False) -> RowSums:
        """Posterior per row, then the column sums."""
        pattern = pattern_of(block, self.place)
        scores = self._sums.row_sums(pattern, self._tensor(block.values), self._tensor(logs))
        scores += tensor_of(prior, self.place)
        posterior, log_z = dense.posterior(scores, hard, self._kind)
        columns = self._columns(block, posterior).to(self._kind)
        weight = tensor_of(block.weight, self.place)
        mass = weight @ posterior.double()
        return RowSums(
            self._result(posterior),
            self._result(columns),
            self._result(mass),
            float(weight @ log_z),
        )

    def mixed(self, nodes: Array, paths: Array, share: Array) -> Array:
        """Mixtures along paths, (J, K)."""
        return self._result(torch_paths.mixed(self._tensor(nodes), np.asarray(paths), share))

    def unmixed(self, nodes: Array, sums: Array, paths: Array, share: Array) -> tuple[Array, Array]:
        """Sums of leaves dealt to the nodes of their paths."""
        out, levels = torch_paths.unmixed(
            self._tensor(nodes), self._tensor(sums), np.asarray(paths), share
        )
        return self._result(out), self._result(levels)

    def path(
        self,
        block: Block,
        nodes: Array,
        paths: Array,
        share: Array,
        prior: Array,
        power: float = 1.0,
        hard: bool = False,
        squares: bool = True,
    ) -> PathSums:
        """Posterior per row from mixtures of its own along paths."""
        given = torch_paths.Given(
            pattern_of(block, self.place),
            tensor_of(block.values, self.place, torch.float64),
            tensor_of(block.weight, self.place),
            self._tensor(nodes).double(),
            np.asarray(paths),
            tensor_of(share, self.place),
            tensor_of(prior, self.place),
        )
        found, log_z = torch_paths.path_sums(given, power, hard, squares, self._kind, self._sums)
        table, own, nodes, square, mass, levels = (self._result(one) for one in found)
        return PathSums(table, own, nodes, square, mass, levels, log_z)

    def times(self, block: Block, V: Array) -> Array:
        """Counts times a table."""
        pattern = pattern_of(block, self.place)
        values, table = self._tensor(block.values), self._tensor(V)
        return self._result(self._sums.row_sums(pattern, values, table))

    def transposed_times(self, block: Block, U: Array) -> Array:
        """Weighted counts, transposed, times a table."""
        return self._result(self._columns(block, self._tensor(U)))

    def dots(self, block: Block, U: Array, V: Array) -> Array:
        """Dot products on the pattern of the counts, (nnz,)."""
        pattern = pattern_of(block, self.place)
        return self._result(self._sums.dots(pattern, self._tensor(U), self._tensor(V)))

    def pair_loo(
        self,
        block: Block,
        rows: Array,
        columns: Array,
        last: Array,
        beta: float,
        temper_prior: bool = False,
    ) -> LeaveOneOut:
        """Leave-one-out posterior per non-zero, (nnz, K)."""
        counted = tuple(tensor_of(x, self.place, torch.float64) for x in (rows, columns))
        how = leave_one_out.How(beta, temper_prior, self._kind, self._sums)
        found = leave_one_out.pair(self._counted(block), counted, tensor_of(last, self.place), how)
        return LeaveOneOut(*(self._result(one) for one in found))

    def row_loo(
        self,
        block: Block,
        columns: Array,
        mass: Array,
        last: Array,
        pseudo: Array,
        beta: float,
        temper_prior: bool = False,
    ) -> LeaveOneOut:
        """Leave-one-out posterior per row."""
        counted = tuple(
            tensor_of(x, self.place, torch.float64) for x in (columns, mass, last, pseudo)
        )
        how = leave_one_out.How(beta, temper_prior, self._kind, self._sums)
        posterior = leave_one_out.row(self._counted(block), counted, how)
        weight = tensor_of(block.weight, self.place)[:, None]
        sums = (posterior, posterior * weight, self._columns(block, posterior))
        return LeaveOneOut(*(self._result(one) for one in sums))

    def nodes(self, block: VectorBlock, centres: Array, scale: float) -> NodeSums:
        """Sums of the posterior over centres."""
        return dense.node_sums(self._vectors(block), self._centres(centres), scale, self._sums)

    def node_posterior(
        self, block: VectorBlock, centres: Array, scale: float
    ) -> tuple[Array, Array]:
        """Posterior over centres (I, K), log normalisers (I,)."""
        found = dense.node_posterior(
            self._vectors(block), self._centres(centres), scale, self._sums
        )
        return self._result(found[0]), self._result(found[1])

    # The rest ----------------------------------------------------------------------------------

    def _add_totals(self, block: Block) -> None:
        """Let a block know the totals of its rows and columns, else made on the host."""
        pattern, one = pattern_of(block, self.place), torch.float64
        rows, columns = (
            torch.ones((n, 1), dtype=one, device=self.place)
            for n in (pattern.n_rows, pattern.n_columns)
        )
        values = tensor_of(block.values, self.place, one)
        heavy = tensor_of(block.weighted, self.place, one)
        row_totals = self._sums.row_sums(pattern, values, columns)[:, 0]
        column_totals = self._sums.column_sums(pattern, heavy, rows)[:, 0]
        block.__dict__["row_totals"] = self._result(row_totals)
        block.__dict__["column_totals"] = self._result(column_totals)

    def _rest(self, block: Block, rest: Array) -> torch_sums.Rest:
        again = (self._tensor(block.values) - 1.0).clamp_(min=0.0)
        if not (block.weight == 1).all():
            again *= tensor_of(block.weight, self.place, self._kind)[
                pattern_of(block, self.place).row_of.long()
            ]
        return torch_sums.Rest(self._tensor(rest), again)

    def _tensor(self, value: Array) -> torch.Tensor:
        return tensor_of(value, self.place, self._kind).contiguous()

    def _array(self, value: Array) -> Any:
        return placed(self._tensor(value), self.place)

    def _result(self, value: torch.Tensor) -> Array:
        found: Array = placed(value, self.place)
        return found

    def _centres(self, centres: Array) -> torch.Tensor:
        return tensor_of(centres, self.place, torch.float64)

    def _vectors(self, block: VectorBlock) -> dense.Vectors:
        present = None if block.present is None else self._tensor(block.present)
        weight = None if (block.weight == 1).all() else tensor_of(block.weight, self.place)
        return dense.Vectors(
            self._tensor(block.values), present, weight, tensor_of(block.squares, self.place)
        )

    def _counted(self, block: Block) -> leave_one_out.Counted:
        parts = (
            tensor_of(x, self.place, torch.float64)
            for x in (block.values, block.weight, block.row_totals)
        )
        return leave_one_out.Counted(pattern_of(block, self.place), *parts)

    def _columns(self, block: Block, table: torch.Tensor) -> torch.Tensor:
        pattern, heavy = pattern_of(block, self.place), self._tensor(block.weighted)
        found: torch.Tensor = self._sums.column_sums(pattern, heavy, table)
        return found

    def _redo(
        self,
        pattern: Pattern,
        heavy: torch.Tensor,
        U: torch.Tensor,
        V: torch.Tensor,
        rest: torch_sums.Rest | None,
        ratio: torch.Tensor,
        rows: torch.Tensor,
        columns: torch.Tensor,
    ) -> tuple[float, float]:
        """Add the pairs whose z underflowed (ratio 0) to the sums; returns their log z and rest."""
        lost = torch.nonzero((ratio == 0) & (heavy > 0)).reshape(-1)
        step, log_z, left = max(1, REDONE_AT_ONCE // U.shape[1]), 0.0, 0.0
        for first in range(0, len(lost), step):
            part = lost[first : first + step]
            i, j = pattern.row_of[part].long(), pattern.indices[part]
            exponent = _floored(U[i]) + _floored(V[j.long()])
            n, z = heavy[part].double(), torch.logsumexp(exponent, dim=1)
            log_z += float(n @ z)
            if rest is not None:
                again, last = rest.again[part].double(), torch.log(rest.value[part].double())
                both = torch.logaddexp(z, last)
                log_z += float(again @ (both - z))
                left += float(again @ torch.exp(last - both))
                n = n + again * torch.expm1(z - both)
            share = n[:, None] * torch.exp(exponent - z[:, None])
            indptr = torch.zeros_like(pattern.indptr)
            indptr[1:] = torch.cumsum(torch.bincount(i, minlength=pattern.n_rows), 0)
            few = Pattern(indptr, j, pattern.n_columns)
            rows += self._sums.row_sums(few, None, share, own=True).to(rows.dtype)
            columns += self._sums.column_sums(few, None, share, own=True).to(columns.dtype)
        return log_z, left


def _floored(table: torch.Tensor) -> torch.Tensor:
    return torch.log(table.double()).clamp_(min=LOG_FLOOR)


def _triton_sums() -> ModuleType:
    """The kernels of Triton, which only Linux and Windows have."""
    try:
        from isotherm.kernels.torch import triton_sums
    except ImportError as missing:
        raise IsothermError(
            "Triton is not installed, and sums over non-zeros on a GPU need it: "
            "pip install 'isotherm[gpu]' (on Linux)"
        ) from missing
    return triton_sums


__all__ = ["DeviceArray", "Torch"]
