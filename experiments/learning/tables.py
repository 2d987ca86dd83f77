"""Real tables with declared bounds.

Bounds are what anybody may know before seeing a row: units, definitions, physics, the climate of Seoul in summer.
None is a minimum or maximum of the rows; what lies outside is clipped by name. The files are found through
``DISCREET_DATA``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WHERE = "abalone, bias correction, superconductivity, Adult and Bank Marketing are in the UCI repository"

#: Shells up to 200 mm, which the file counts as 1; weights of up to 600 g, which it counts as 3; ages to thirty rings.
ABALONE = {
    "length": (0, 1),
    "diameter": (0, 1),
    "height": (0, 0.5),
    "whole_weight": (0, 3),
    "shucked_weight": (0, 1.5),
    "viscera_weight": (0, 1),
    "shell_weight": (0, 1.2),
}
#: Degrees Celsius, per cent, metres a second, shares of cloud, millimetres, and the frame of the city's map.
TEMPERATURE = {
    "Present_T": (10, 40),
    "LDAPS_RH": (0, 100),
    "LDAPS_T": (10, 40),
    "LDAPS_WS": (0, 25),
    "LDAPS_LH": (-20, 220),
    "LDAPS_CC": (0, 1),
    "LDAPS_PPT": (0, 25),
    "lat": (37.4, 37.7),
    "lon": (126.8, 127.2),
    "DEM": (0, 250),
    "Slope": (0, 6),
    "Solar": (4000, 6000),
}
#: Properties of elements: the ends of the periodic table for means and ranges; a standard deviation is at most half a
#: range.
ELEMENTS = {
    "atomic_mass": (0, 240),
    "fie": (370, 1400),
    "atomic_radius": (30, 300),
    "Density": (0, 22600),
    "ElectronAffinity": (0, 350),
    "FusionHeat": (0, 105),
    "ThermalConductivity": (0, 430),
    "Valence": (0, 7),
}
#: Entropies of up to nine elements.
ENTROPY = (0.0, 2.2)


@dataclass(frozen=True, eq=False)
class Table:
    """Features, outcome and their public bounds."""

    name: str
    features: Floats
    outcome: NDArray[np.object_] | Floats
    low: Floats
    high: Floats
    outcome_bounds: tuple[float, float] = (0.0, 1.0)

    def parts(self, seed: int, share: float = 0.2) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which rows are for training and which are held out."""
        held = np.random.default_rng(seed).random(len(self.outcome)) < share
        return ~held, held


def folder() -> Path | None:
    """Where the files are, if anywhere."""
    named = os.environ.get("DISCREET_DATA", "")
    return Path(named) if named and Path(named).is_dir() else None


def has(*names: str) -> bool:
    """Whether these files are there."""
    data = folder()
    return data is not None and all((data / name).exists() for name in names)


def _bounds_of(column: str, known: dict[str, tuple[float, float]]) -> tuple[float, float]:
    return next(bounds for name, bounds in known.items() if column.startswith(name))


def _element_bounds(column: str) -> tuple[float, float]:
    if column == "number_of_elements":
        return 1, 9
    if "entropy" in column:
        return ENTROPY
    low, high = next(bounds for name, bounds in ELEMENTS.items() if column.endswith(name))
    if "range" in column:
        return 0, high
    return (0, high / 2) if "std" in column else (low, high)


def _table(
    name: str, rows: pd.DataFrame, outcome: str, bounds: list[tuple[float, float]], of: tuple[float, float]
) -> Table:
    features = rows.drop(columns=outcome)
    ends = np.array(bounds, float)
    return Table(name, features.to_numpy(float), rows[outcome].to_numpy(float), ends[:, 0], ends[:, 1], of)


def abalone(data: Path) -> Table:
    """Rings of 4,177 abalones; the sex as three columns of 0 and 1."""
    rows = pd.get_dummies(pd.read_csv(data / "abalone.csv"), dtype=float)
    bounds = [ABALONE.get(column, (0, 1)) for column in rows.columns if column != "rings"]
    return _table("abalone", rows, "rings", bounds, (0, 30))


def temperature(data: Path) -> Table:
    """Tomorrow's highest temperature at 25 stations in Seoul, 7,588 complete rows."""
    rows = pd.read_parquet(data / "temperature_bias.parquet").drop(columns=["station", "Date", "Next_Tmin"]).dropna()
    bounds = [_bounds_of(column, TEMPERATURE) for column in rows.columns if column != "Next_Tmax"]
    return _table("temperature bias", rows, "Next_Tmax", bounds, (15, 40))


def superconductivity(data: Path) -> Table:
    """The critical temperature of 21,263 superconductors in kelvin; 200 is above the record of its time."""
    rows = pd.read_parquet(data / "superconductivity_78of82.parquet")
    bounds = [_element_bounds(column) for column in rows.columns if column != "critical_temp"]
    return _table("superconductivity", rows, "critical_temp", bounds, (0, 200))


REGRESSIONS = {"abalone": abalone, "temperature bias": temperature, "superconductivity": superconductivity}


@dataclass(frozen=True, eq=False)
class Adult:
    """Income above 50,000 dollars: features as numbers, a model matrix for a logistic model, the published split."""

    features: Floats
    design: Floats
    outcome: NDArray[np.int64]
    train: NDArray[np.bool_]
    names: list[str]


def adult(data: Path) -> Adult:
    """48,842 people; categories as codes in alphabetical order, and as standardised columns of 0 and 1 in the
    matrix.
    """
    rows = pd.read_parquet(data / "adult.parquet")
    outcome = rows["income"].str.contains(">50K").to_numpy(np.int64)
    train = (rows["split"] == "train").to_numpy()
    features = rows.drop(columns=["income", "split", "fnlwgt"])
    columns = pd.get_dummies(features.drop(columns="education_num"), dtype=float, drop_first=True)
    columns = columns.loc[:, columns.mean().abs() > 0.03]  # rare categories would have no finite coefficient
    standard = (columns - columns.mean()) / columns.std()
    codes = features.apply(lambda one: one if one.dtype.kind in "if" else one.astype("category").cat.codes)
    return Adult(
        codes.to_numpy(float),
        np.column_stack([np.ones(len(rows)), standard.to_numpy(float)]),
        outcome,
        train,
        list(features.columns),
    )


#: Upper ends of what the census asks; the lower ones are 0. Categories are codes below the number of answers.
ADULT = {"age": 100, "education_num": 16, "capital_gain": 100_000, "capital_loss": 5_000, "hours_per_week": 100}
ANSWERS = {"workclass": 8, "education": 15, "marital_status": 6, "occupation": 14, "relationship": 5, "race": 4}
OTHER_ANSWERS = {"sex": 1, "native_country": 41}


def adult_bounds(people: Adult) -> tuple[Floats, Floats]:
    """The declared bounds of its features."""
    high = np.array([{**ADULT, **ANSWERS, **OTHER_ANSWERS}[name] for name in people.names], float)
    return np.zeros(len(high)), high
