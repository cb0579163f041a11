"""Mixed-integer solvers: HiGHS, and SCIP or Gurobi where they are installed.

Each gets a program in doubles (a relaxation of the exact one), tolerances of
:data:`~cfxc.compiler.mixed_integer.FEASIBILITY`, an absolute gap and a time limit, and answers with
its dual bound and its best point.  One thread: instances are solved in parallel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from threading import Thread
from typing import Any, ClassVar, Literal

import numpy as np

from ...arrays import Floats
from ...compiler.linear_programs import OPTIONS, made_solver, rows
from ...compiler.mixed_integer import FEASIBILITY, Rounded
from ...errors import DataTypeError, InvalidInputError, MissingExtraError, SolverError
from ...stopping import attend, is_pressed, now

Status = Literal["optimal", "infeasible", "limit", "interrupted", "lost"]
"""``lost``: the solver gave up over its own rounding, without an answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a solver knows: ``bound`` is its dual bound, ``values`` its best point, if any.

    ``bound`` is on the objective's own scale, minus infinity if it has none; ``pool`` holds the
    solutions met on the way, of solvers that tell.
    """

    status: Status
    bound: float = -np.inf
    values: Floats | None = None
    nodes: int = 0
    pool: Sequence[Floats] = ()


def solve_constants(program: Rounded) -> Answer:
    """Of a program without columns, which solvers refuse."""
    if (program.row_lower > 0).any() or (program.row_upper < 0).any():
        return Answer("infeasible")
    return Answer("optimal", _finite(program.offset / program.scale), np.empty(0))


class Backend(ABC):
    """A mixed-integer solver."""

    name: ClassVar[str]
    module: ClassVar[str]
    extra: ClassVar[str]

    @abstractmethod
    def solve(self, program: Rounded, *, seconds: float, gap: float) -> Answer:
        """Minimise to within an absolute ``gap`` of the objective, as far as the time goes."""

    @classmethod
    def load(cls) -> Any:
        """The solver's Python module; ``MissingExtraError`` names what to install."""
        if find_spec(cls.module) is None:
            raise MissingExtraError(cls.extra, cls.module, f"the solver {cls.name}")
        return import_module(cls.module)


QUICK = 0.2  # seconds
CLEAR = 1e-4  # of a bound: by how much less is not the work of tolerances
_PLAIN = {
    "presolve": "off",
    "mip_feasibility_tolerance": 1e-6,
    "primal_feasibility_tolerance": 1e-7,
    "dual_feasibility_tolerance": 1e-7,
}


class Highs(Backend):
    """HiGHS (``highspy``)."""

    name, module, extra = "HiGHS", "highspy", "highs"

    def solve(self, program: Rounded, *, seconds: float, gap: float) -> Answer:
        """See :meth:`Backend.solve`.

        What was found quickly, or without branching, is asked again without presolve and with the
        usual tolerances: reductions of a presolver err where slow branching does not.
        """
        started = now()
        options = _highs_options(program, seconds, gap)
        answer = self._solve(program, options)
        spent = now() - started
        left = max(seconds - spent, 0.01)
        if answer.status in ("infeasible", "optimal") and (spent < QUICK or answer.nodes <= 1):
            limit = {"time_limit": min(10 * QUICK, left)}
            return _doubted(answer, self._solve(program, options | _PLAIN | limit))
        if answer.status == "lost":
            return self._solve(program, options | {"presolve": "off", "time_limit": left})
        return answer

    def _solve(self, program: Rounded, options: dict[str, Any]) -> Answer:
        module, highs = self.load(), made_solver(program, options, whole=True)
        pool: list[Floats] = []
        highs.cbMipImprovingSolution.subscribe(
            lambda event: pool.append(np.array(event.data_out.mip_solution, dtype=np.float64))
        )
        highs.HandleUserInterrupt = True
        thread = Thread(target=highs.run, daemon=True)  # startSolve has one lock for all solvers
        thread.start()
        if not attend(thread, highs.cancelSolve):
            return Answer("limit", values=pool[-1] if pool else None, pool=tuple(pool))
        interrupted = is_pressed()
        status = highs.getModelStatus()
        info = highs.getInfo()
        kinds = module.HighsModelStatus
        nodes = max(int(info.mip_node_count), 0)
        if status == kinds.kInfeasible:
            return Answer("infeasible", nodes=nodes)
        known = {
            kinds.kOptimal: "optimal", kinds.kTimeLimit: "limit", kinds.kInterrupt: "limit",
            kinds.kUnknown: "lost", kinds.kSolveError: "lost",
        }  # fmt: skip
        if status not in known and not interrupted:
            raise SolverError(f"HiGHS ended with '{highs.modelStatusToString(status)}'")
        found = int(info.primal_solution_status) == 2
        values = np.array(highs.getSolution().col_value) if found else None
        whole = bool(program.whole.any())
        bound = float(info.mip_dual_bound if whole else info.objective_function_value)
        outcome: Any = "interrupted" if interrupted else known[status]
        if outcome == "lost" or (outcome != "optimal" and not whole):
            bound = -np.inf
        return Answer(outcome, _finite(bound / program.scale), values, nodes, pool)


def _doubted(answer: Answer, again: Answer) -> Answer:
    """An answer beside a second one, whose tolerances are not those that bounds allow for."""
    if again.status != "optimal":
        return answer
    if answer.status == "infeasible":
        return replace(again, bound=-np.inf)
    erred = again.bound < answer.bound - CLEAR * abs(answer.bound)
    return replace(answer, bound=again.bound) if erred else answer


def _highs_options(program: Rounded, seconds: float, gap: float) -> dict[str, Any]:
    return {
        **OPTIONS,
        "time_limit": max(seconds, 0.01),
        "mip_rel_gap": 0.0,
        "mip_abs_gap": gap * program.scale,
        "mip_feasibility_tolerance": FEASIBILITY,
    }


class Scip(Backend):
    """SCIP (``pyscipopt``)."""

    name, module, extra = "SCIP", "pyscipopt", "scip"

    def solve(self, program: Rounded, *, seconds: float, gap: float) -> Answer:
        module = self.load()
        scip = module.Model()
        scip.hideOutput()
        scip.setParams(
            {
                "limits/time": max(seconds, 0.01),
                "limits/absgap": gap * program.scale,
                "numerics/feastol": FEASIBILITY,
                "numerics/dualfeastol": FEASIBILITY,
                "parallel/maxnthreads": 1,
            }
        )
        columns = [
            scip.addVar(vtype="I" if whole else "C", lb=low, ub=high, obj=cost)
            for whole, low, high, cost in zip(
                program.whole.tolist(), program.lower.tolist(), program.upper.tolist(),
                program.cost.tolist(), strict=True,
            )
        ]  # fmt: skip
        scip.addObjoffset(program.offset)
        for terms, low, high in rows(program):
            body = module.quicksum(factor * columns[j] for j, factor in terms)
            if np.isfinite(high):
                scip.addCons(body <= high)
            if np.isfinite(low):
                scip.addCons(body >= low)
        scip.optimize()
        status = scip.getStatus()
        nodes = int(scip.getNTotalNodes())
        if status == "infeasible":
            return Answer("infeasible", nodes=nodes)
        kinds: dict[str, Status] = {
            "optimal": "optimal", "gaplimit": "optimal", "timelimit": "limit",
            "userinterrupt": "interrupted",
        }  # fmt: skip
        if status not in kinds:
            raise SolverError(f"SCIP ended with '{status}'")
        values = None
        if scip.getNSols():
            best = scip.getBestSol()
            values = np.array([scip.getSolVal(best, column) for column in columns])
        pool = [
            np.array([scip.getSolVal(one, column) for column in columns]) for one in scip.getSols()
        ]
        bound = _finite(scip.getDualbound() / program.scale)
        return Answer(kinds[status], bound, values, nodes, pool)


class Gurobi(Backend):
    """Gurobi (``gurobipy``, with a licence of your own)."""

    name, module, extra = "Gurobi", "gurobipy", "gurobi"

    def solve(self, program: Rounded, *, seconds: float, gap: float) -> Answer:
        module = self.load()
        with module.Env(params={"OutputFlag": 0}) as environment:
            model = module.Model(env=environment)
            tolerance = max(FEASIBILITY, 1e-9)
            options = {
                "TimeLimit": max(seconds, 0.01), "Threads": 1, "MIPGap": 0.0,
                "MIPGapAbs": gap * program.scale, "FeasibilityTol": tolerance,
                "OptimalityTol": tolerance, "IntFeasTol": tolerance,
            }  # fmt: skip
            for option, value in options.items():
                model.setParam(option, value)
            kinds = np.where(program.whole, module.GRB.INTEGER, module.GRB.CONTINUOUS)
            columns = model.addMVar(
                program.lower.size, lb=program.lower, ub=program.upper, obj=program.cost,
                vtype=kinds,
            )  # fmt: skip
            model.ObjCon = program.offset
            for terms, low, high in rows(program):
                body = module.quicksum(factor * columns[j] for j, factor in terms)
                if np.isfinite(high):
                    model.addConstr(body <= high)
                if np.isfinite(low):
                    model.addConstr(body >= low)
            model.optimize()
            return _gurobi_answer(module.GRB, model, columns, program)


def _gurobi_answer(constants: Any, model: Any, columns: Any, program: Rounded) -> Answer:
    nodes = int(model.NodeCount)
    if model.Status in (constants.INFEASIBLE, constants.INF_OR_UNBD):
        return Answer("infeasible", nodes=nodes)  # columns are bounded: so is the objective
    kinds: dict[int, Status] = {
        constants.OPTIMAL: "optimal",
        constants.TIME_LIMIT: "limit",
        constants.INTERRUPTED: "interrupted",
    }
    if model.Status not in kinds:
        raise SolverError(f"Gurobi ended with status {model.Status}")
    values = np.array(columns.X) if model.SolCount else None
    return Answer(kinds[model.Status], _finite(model.ObjBound / program.scale), values, nodes)


def _finite(bound: float) -> float:
    """A bound, or minus infinity for a solver's own infinities."""
    return bound if abs(bound) < 1e19 else -np.inf


BACKENDS: dict[str, type[Backend]] = {"highs": Highs, "scip": Scip, "gurobi": Gurobi}


def backend(name: str) -> Backend:
    """The solver ``highs``, ``scip`` or ``gurobi``.

    Raises:
        InvalidInputError: an unknown name.
        MissingExtraError: its package is not installed.
    """
    if not isinstance(name, str):
        raise DataTypeError(f"solver is a name, not {name!r}: {', '.join(BACKENDS)}")
    if name not in BACKENDS:
        raise InvalidInputError(f"unknown solver '{name}': {', '.join(BACKENDS)}")
    chosen = BACKENDS[name]
    chosen.load()
    return chosen()
