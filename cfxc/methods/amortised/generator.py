"""The public face: fit once, then many diverse counterfactuals for any instance (L2C)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...errors import DataTypeError, InvalidInputError
from ...frontends.compiled import Compiled
from ...ir.sorts import preview
from ...question.criteria import Criterion
from ...space import FeatureSpace
from ...space.names import names_arguments
from ...space.tables import indexed
from ...writing import make_folder, path_of
from .generating import generate
from .instances import columns_of, position_of, refuse_regression, table
from .levels import Codes, Levels
from .material import Material
from .menus import check_asked
from .sampling import Done
from .settings import Settings
from .storage import Stored, read, write
from .training import Watch, train

CHECKPOINT = "checkpoint.safetensors"


def _refuse_other(model: object) -> None:
    """Refuse what is no compiled model."""
    if not isinstance(model, Compiled):
        raise DataTypeError(
            f"Generator takes a compiled model, not {type(model).__name__}: "
            "cfxc.Generator(cfxc.compile(model, space))"
        )


class Generator:
    """Learns to propose counterfactuals of one compiled classifier (Vo et al. 2023), verified.

    Numbers are cut into quantile buckets; a network G gives each feature a distribution over its
    levels and a network S a chance to change at all, both trained on rows of data to give the
    target label.  What is drawn from them is decoded, evaluated and re-run through the original
    model before it is returned.

    Args:
        model: A compiled classifier.
        space: What may change; by default the model's own space.
        buckets, bucket_rows: Most levels of a number, and fewest rows in each.
        hidden, temperature, alpha, learning_rate, epochs: As in the paper (A.2).
        batch_size: Rows in a step.
        selector: Whether there is S (B.4).
        gradient: How the loss reaches the networks: ``pathwise``, through the model as a torch
            module; ``reinforce``, by the likelihood of samples that the evaluator judges, for any
            model; ``straight-through``, through a small network that imitates the model; ``auto``:
            pathwise where the model allows it, else reinforce.
        draws: Samples of each row in a step of ``reinforce``, at least 2.
        held_out, patience: Training stops after so many epochs without a lower loss on this share
            of the rows; 0 trains on all, to the last epoch.
        random_state: Seed of training; ``None`` for another one every time.

    Attributes:
        space: The feature space.
        last_report: What the last :meth:`generate` did for each instance (see there), or ``None``.

    Raises:
        InvalidInputError, DataTypeError: a setting is not acceptable, the space is not over the
            model's features, nothing in it can change, or the model is no classifier.
    """

    @names_arguments
    def __init__(
        self,
        model: Compiled,
        space: FeatureSpace | None = None,
        *,
        buckets: int = 4,
        bucket_rows: int = 100,
        hidden: Sequence[int] = (50, 50),
        temperature: float = 0.2,
        alpha: float = 1e-3,
        learning_rate: float = 1e-4,
        epochs: int = 200,
        batch_size: int = 256,
        selector: bool = True,
        gradient: str = "auto",
        draws: int = 4,
        held_out: float = 0.1,
        patience: int = 20,
        random_state: int | None = 0,
    ) -> None:
        _refuse_other(model)
        drawn = int(np.random.SeedSequence().generate_state(1)[0])
        self.settings = Settings(
            buckets=buckets, bucket_rows=bucket_rows, hidden=hidden, temperature=temperature,
            alpha=alpha, learning_rate=learning_rate, epochs=epochs, batch_size=batch_size,
            selector=selector, gradient=gradient, draws=draws, held_out=held_out,
            patience=patience, random_state=drawn if random_state is None else random_state,
        )  # fmt: skip
        self.space = model.space if space is None else _same_features(model.space, space)
        self.model = replace(model, space=self.space)
        refuse_regression(model.program)
        _refuse_fixed(self.space)
        self.space.refuse_missing("a generator")
        self.last_report: pd.DataFrame | None = None
        self._stored: Stored | None = None

    def __repr__(self) -> str:
        state = "not fitted"
        if self._stored is not None:
            state = f"fitted on {self._stored.rows} rows for {preview(self.targets)}"
        return f"Generator({self.model.program.name}: {state})"

    @names_arguments
    def fit(
        self,
        X: Any,
        target: Any = None,
        *,
        checkpoint: str | Path | None = None,
        progress: Watch | None = None,
    ) -> Generator:
        """Train on rows of data, each towards a label that the model does not give it (eq. 3).

        Args:
            X: Rows with the space's columns; best those that the model was trained on.
            target: The label, or a list of labels, that will be targets; by default the favourable
                one, or else every label that the model gives to rows of ``X``.
            checkpoint: A folder to keep the state of training in after every epoch, and to go on
                from if there is one; the weights then are those of training in one go.
            progress: Called after every epoch with where training stands (:class:`Epoch`).

        Returns:
            The generator itself.

        Raises:
            CfxcError: rows that are not of the space; a label that the model does not have, or
                gives to no row of ``X``; nothing that can change; a checkpoint of something else.
            UnsupportedError: ``gradient="pathwise"`` for a model that no gradient flows through.
        """
        if progress is not None and not callable(progress):
            raise DataTypeError(f"progress is a function of an Epoch, not {progress!r}")
        raw = columns_of(self.space, table(self.space, X, "X"))
        settings, program = self.settings, self.model.program
        target = self.model.target_or_favourable(target)
        named = None if target is None else self._positions(target)
        levels = Levels.cut(self.space, raw, settings.buckets, settings.bucket_rows)
        if not levels.free.size:
            raise InvalidInputError(
                f"nothing can change: every free feature has one level in these rows ({len(X)}); "
                f"give more, or lower the fewest of a bucket, {settings.bucket_rows} (bucket_rows)"
            )
        material = Material.of(program, levels, raw)
        targets = _trained_for(named, material)
        file = None
        if checkpoint is not None:
            file = make_folder(checkpoint) / CHECKPOINT
        trained = train(
            material, targets, settings, checkpoint=file,
            identity=self._identity(material, targets), progress=progress,
        )  # fmt: skip
        self._stored = Stored(
            program.digest, self.space, levels, settings, tuple(targets.tolist()),
            trained.gradient, trained.losses, len(X), trained.weights,
        )  # fmt: skip
        return self

    @names_arguments
    def generate(
        self,
        rows: Any,
        n: int = 100,
        target: Any = None,
        *,
        sparsity: float | None = None,
        subject_to: str | Criterion | Sequence[str | Criterion] = (),
        diversity: str | None = "maxmin",
        bands: Mapping[str, Sequence[float]] | None = None,
        polish: bool = False,
        exact: bool = True,
        distance: Any = "l1",
        random_state: int | None = None,
        time_limit: float = 60.0,
        progress: Done | None = None,
    ) -> Any:
        """Up to n different counterfactuals of each instance.

        Every row returned keeps to the instance's space and constraints, has the target outcome in
        the exact program, and was re-run through the original model.  There are fewer than ``n``
        where no more were found: nothing is proved about others.

        Args:
            rows: Instances, one a row (a table of pandas, polars or pyarrow), or one instance as a
                Series or mapping.
            n: How many for each, at most.
            target: The target label; by default the favourable one, else the other one of two.
                Rows that have it get none.
            sparsity: Share of the numbers that may change in one row, at most (B.3).
            subject_to: Conditions over ``x`` and ``factual``, and :class:`cfxc.MaxChanges`.
            diversity: Of the rows found those that are chosen: ``maxmin`` (greedily the farthest
                from those chosen), ``dpp`` (greedily the largest determinant), ``harmonic``
                (greedily the largest harmonic mean of the share of features in which two of them
                differ and the share that each leaves alone), by levels, or ``None`` (any).
            bands: Inner edges of a number, in its units and rising, such as ``{"age": [25, 40]}``:
                rows differ in it where one lies above an edge and the other does not, instead of by
                levels.  More levels
                than bands (``buckets``) leave more rows to choose from.
            polish: Move each row as near to the instance as it goes while the same features change,
                by the exact engines.
            exact: Ask the exact engines about instances of which nothing was found: up to 5 rows
                each, no two of which change the same feature, within 2 seconds a row.
            distance: Of polishing, as :meth:`cfxc.CompiledModel.explain` takes it.
            random_state: Seed of the samples; by default that of training.
            time_limit: Seconds, half of them at most to draw.  Then rows are chosen and verified
                for one instance after the other, as far as the time goes, and polished in what is
                left; instances that none was left for have ``none``.  Rows that no time is left to
                choose are any of those found.
            progress: Called now and then with how many instances have enough, and of how many.

        Returns:
            The rows, with the columns and dtypes of ``rows`` (a wider dtype where that cannot hold
            a level), indexed by the instance's label and k = 0, 1, …; of tables without an index,
            both are columns, ``row`` and ``k``, before them.  ``last_report`` then has for each
            instance ``status`` (``full``, ``fewer``, ``none``, ``impossible``: proved that there
            are none, or ``in target``), how many rows were ``returned``, ``found`` (distinct, valid
            for the batch evaluator), ``refused`` (by exact program or original model), ``drawn``,
            in how many ``rounds``, given by ``exact`` engines, and ``polished``.

        Raises:
            CfxcError: not fitted; bad rows or options; a target that was not trained for; no row
                who does not have it already.
        """
        stored = self._fitted()
        if progress is not None and not callable(progress):
            raise DataTypeError(f"progress is a function of two numbers, not {progress!r}")
        asked = check_asked(
            stored.levels, n=n, sparsity=sparsity, subject_to=subject_to, diversity=diversity,
            bands=bands, polish=polish, exact=exact, time_limit=time_limit,
            random_state=self.settings.random_state if random_state is None else random_state,
        )  # fmt: skip
        frame = table(self.space, rows, "rows")
        target = self.model.target_or_favourable(target)
        targets = None if target is None else position_of(self.model.program, target)
        found, self.last_report = generate(
            self.model, stored, frame, targets, asked, distance, progress
        )
        return indexed(found, rows)

    @names_arguments
    def save(self, folder: str | Path) -> None:
        """Write ``generator.json`` and ``weights.safetensors``.

        Raises:
            InvalidInputError: it is not fitted, or the files cannot be written.
        """
        write(path_of(folder, "a folder"), self._fitted())

    @classmethod
    @names_arguments
    def load(cls, folder: str | Path, model: Compiled) -> Generator:
        """Read what :meth:`save` wrote, for the model that it was trained for.

        Raises:
            ModelFileError: files are missing, damaged, or of another version.
            InvalidInputError: it was trained for another model.
        """
        _refuse_other(model)
        refuse_regression(model.program)
        classes = len(model.program.output_sorts["label"].labels)
        stored = read(path_of(folder, "a folder"), model.program.digest, classes)
        made = cls(model, stored.space, **asdict(stored.settings))
        made._stored = stored
        return made

    @property
    def targets(self) -> tuple[Any, ...]:
        """The labels that it was trained for.

        Raises:
            InvalidInputError: it is not fitted.
        """
        labels = self.model.program.output_sorts["label"].labels
        return tuple(labels[position] for position in self._fitted().targets)

    @property
    def losses(self) -> tuple[float, ...]:
        """The loss after each epoch, of the rows held out.

        Raises:
            InvalidInputError: it is not fitted.
        """
        return self._fitted().losses

    @property
    def gradient(self) -> str:
        """How it was trained: ``pathwise``, ``reinforce`` or ``straight-through``.

        Raises:
            InvalidInputError: it is not fitted.
        """
        return self._fitted().gradient

    def _fitted(self) -> Stored:
        if self._stored is None:
            raise InvalidInputError("the generator is not fitted: call fit(X) first, or load one")
        return self._stored

    def _positions(self, target: Any) -> Codes:
        """Positions of the labels named."""
        several = target if isinstance(target, list) else [target]
        if not several:
            raise InvalidInputError("target lists no label")
        return np.unique([position_of(self.model.program, each) for each in several])

    def _identity(self, material: Material, targets: Codes) -> str:
        """Of all that the weights depend on."""
        hasher = sha256(self.model.program.digest.encode())
        hasher.update(
            f"{self.space.unworded.to_toml()}\n{self.settings}\n{targets.tolist()}".encode()
        )
        for name, column in material.raw.items():
            hasher.update(name.encode() + np.ascontiguousarray(column).tobytes())
        return hasher.hexdigest()


def _same_features(own: FeatureSpace, given: Any) -> FeatureSpace:
    """Another space over the features that the model was compiled for."""
    if not isinstance(given, FeatureSpace):
        raise DataTypeError(f"space is a FeatureSpace, not {type(given).__name__}")
    odd = [f.name for f in given if f.name not in own]
    odd += [
        f.name for f in own
        if f.name not in given or _nature(f) != _nature(given[f.name])
    ]  # fmt: skip
    if odd or own.names != given.names:
        raise InvalidInputError(
            "the space is not over the features that the model was compiled for"
            + (f": {', '.join(odd[:7])}" if odd else ": their order differs")
        )
    return given


def _nature(feature: Any) -> tuple[Any, ...]:
    """What a program relies on."""
    return feature.kind, feature.labels, feature.columns, feature.encoding, feature.dtypes


def _refuse_fixed(space: FeatureSpace) -> None:
    """Something has to be free."""
    if all(feature.action == "fixed" or not feature.range for feature in space):
        raise InvalidInputError(
            "nothing can change: every feature of the space is fixed, or has only one value"
        )


def _trained_for(named: Codes | None, material: Material) -> Codes:
    """Positions of the labels to train for."""
    labels, given = material.judge.labels, np.unique(material.before)
    if named is None and given.size > 1:
        return given
    asked = np.arange(len(labels)) if named is None else named
    never = [p for p in asked.tolist() if p not in given]
    if named is not None and not never:
        return named
    raise InvalidInputError(
        f"the model gives {preview([labels[p] for p in never])} to none of these rows; train on "
        "rows of every target outcome, such as those the model was trained on"
    )
