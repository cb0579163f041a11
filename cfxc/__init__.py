"""cfxc: a compiler from trained models to proved nearest counterfactual explanations.

Everything public is here; the parts that need pandas, scikit-learn or a solver are imported when
they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import (
    CfxcError,
    DataTypeError,
    InvalidInputError,
    LanguageError,
    MissingColumnError,
    MissingExtraError,
    ModelFileError,
    NoChangeNeededError,
    SolverError,
    UnsupportedError,
    VerificationError,
)
from .version import __version__

if TYPE_CHECKING:
    from . import datasets, metrics
    from .answers.checking import check, export
    from .answers.overview import report
    from .answers.pictures import plot_changes, plot_costs
    from .answers.result import Result
    from .certificates import Report
    from .methods.amortised import Generator
    from .methods.bayes import AEP, SEP, BlackBox, CustomPotential, Evaluations, PotentialResult
    from .methods.frontier import Frontier
    from .methods.plans import Moments, PlanResult
    from .methods.singles import Singles
    from .model import CompiledModel, compile
    from .question.criteria import (
        Accepts,
        Causal,
        Condition,
        Criterion,
        Margin,
        MaxChanges,
        Probability,
        TrustRegion,
    )
    from .question.distances import Mahalanobis
    from .question.diversity import Diverse
    from .question.question import Question
    from .retraining import retrained
    from .solvers.base import Progress
    from .solvers.certification import Certificate
    from .space import Feature, FeatureSpace

_LAZY = {
    "AEP": ".methods.bayes",
    "Accepts": ".question.criteria",
    "BlackBox": ".methods.bayes",
    "Causal": ".question.criteria",
    "Certificate": ".solvers.certification",
    "CompiledModel": ".model",
    "Condition": ".question.criteria",
    "Criterion": ".question.criteria",
    "CustomPotential": ".methods.bayes",
    "Diverse": ".question.diversity",
    "Evaluations": ".methods.bayes",
    "Feature": ".space",
    "FeatureSpace": ".space",
    "Frontier": ".methods.frontier",
    "Generator": ".methods.amortised",
    "Mahalanobis": ".question.distances",
    "Margin": ".question.criteria",
    "MaxChanges": ".question.criteria",
    "Moments": ".methods.plans",
    "PlanResult": ".methods.plans",
    "PotentialResult": ".methods.bayes",
    "Probability": ".question.criteria",
    "Progress": ".solvers.base",
    "Question": ".question.question",
    "Report": ".certificates",
    "Result": ".answers.result",
    "SEP": ".methods.bayes",
    "Singles": ".methods.singles",
    "TrustRegion": ".question.criteria",
    "check": ".answers.checking",
    "compile": ".model",
    "export": ".answers.checking",
    "plot_changes": ".answers.pictures",
    "plot_costs": ".answers.pictures",
    "report": ".answers.overview",
    "retrained": ".retraining",
}
"""Public name → the module that defines it."""


def __getattr__(name: str) -> Any:
    if name in ("datasets", "metrics"):
        return import_module(f".{name}", __name__)
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "AEP",
    "SEP",
    "Accepts",
    "BlackBox",
    "Causal",
    "Certificate",
    "CfxcError",
    "CompiledModel",
    "Condition",
    "Criterion",
    "CustomPotential",
    "DataTypeError",
    "Diverse",
    "Evaluations",
    "Feature",
    "FeatureSpace",
    "Frontier",
    "Generator",
    "InvalidInputError",
    "LanguageError",
    "Mahalanobis",
    "Margin",
    "MaxChanges",
    "MissingColumnError",
    "MissingExtraError",
    "ModelFileError",
    "Moments",
    "NoChangeNeededError",
    "PlanResult",
    "PotentialResult",
    "Probability",
    "Progress",
    "Question",
    "Report",
    "Result",
    "Singles",
    "SolverError",
    "TrustRegion",
    "UnsupportedError",
    "VerificationError",
    "__version__",
    "check",
    "compile",
    "datasets",
    "export",
    "metrics",
    "plot_changes",
    "plot_costs",
    "report",
    "retrained",
]
