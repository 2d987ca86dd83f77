"""One manifest of every kind, for the tests of this layer."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet import Binary, Box, Categorical, Grid, Metric, Ordinal, design
from discreet.blocks import Block, ColumnBlock, DesignsByRow, JointBlock, NumericBlock, OneNumberBlock, RoundedBlock
from discreet.domains import WithBlank
from discreet.manifest import Column, Manifest, Survey, composed_guarantee
from discreet.manifest.digest import ColumnDigest, Content
from discreet.manifest.parts import Addition, PartFile
from discreet.manifest.signature import SigningKey
from discreet.mechanisms import (
    BinaryResponse,
    BipartiteResponse,
    ChannelResponse,
    CyclicResponse,
    ExponentialResponse,
    GeneralizedResponse,
    JointResponse,
    OneNumberResponse,
    PaleySet,
    SingerSet,
    UnbiasedResponse,
    ZeroInflatedLaplace,
)
from discreet.mechanisms.joint import GroupedLaw, ProductLaw, StarLaw, Threshold, ThresholdLaw

PUBLIC = (
    Column("sex", "public", "text"),
    Column("age", "public", "integer"),
    Column("w", "weight", "number"),
    Column("region", "strata", "text"),
    Column("school", "cluster", "text"),
    Column("mode", "public", "text"),
)
FORMS = [
    ("sex", "text"),
    ("age", "integer"),
    ("w", "float64"),
    ("region", "text"),
    ("school", "text"),
    ("mode", "text"),
    ("cheated", "report8"),
]
SURVEY = Survey("w", "region", "school")


def manifest_of(*blocks: Block, rows_per_person: int | None = None, **more) -> Manifest:
    """A manifest with public columns of every role and these blocks."""
    private = tuple(Column(name, "private") for block in blocks for name in block.columns)
    settings = {
        "rows": 1000,
        "columns": PUBLIC + private,
        "blocks": blocks,
        "guarantee": composed_guarantee(blocks, rows_per_person),
        "secure": True,
        "source": "OpenSSL",
        "survey": SURVEY,
        "rows_per_person": rows_per_person,
        "title": "Campus honesty survey",
        "id": "8b0c3f1e-6c0e-4b7e-9d3a-5a3d4f0f9b11",
        "created": "2025-01-31T12:00:00+00:00",
        "version": "0.1.0",
    }
    return Manifest(**(settings | more))


def block(mechanism, domain=None, columns=("cheated",), **more) -> Block:
    """Columns that went through one channel; its reports are named by itself unless they are given."""
    truths = domain or Binary()
    named = {"reports": mechanism.report_domain(truths)} | more
    return ColumnBlock(columns=columns, domain=truths, mechanism=mechanism, **named)


def by_mode(designs, **more) -> Block:
    """Yes/no answers that respondents randomised, by a design that hangs on how they were asked."""
    named = {"reports": Binary()} | more
    return DesignsByRow(columns=("cheated",), domain=Binary(), by="mode", designs=designs, collected=True, **named)


def joint_block(law, name="product") -> Block:
    """Two columns that were randomised together."""
    domains = (Binary(), Categorical(["n", "s", "e"]))
    joint = JointResponse(law, [1 << 63, 1 << 64])
    return JointBlock(columns=(f"smokes ({name})", f"region ({name})"), domains=domains, mechanism=joint)


DICE = {
    "direct": BinaryResponse.direct(),
    "warner": BinaryResponse.warner("2/3"),
    "crosswise": BinaryResponse.crosswise("1/4"),
    "forced": BinaryResponse.forced("1/6", "1/6"),
    "unrelated": BinaryResponse.unrelated("2/3", "1/4"),
    "mangat": BinaryResponse.mangat("3/5"),
    "kuk": BinaryResponse.kuk("4/5", "1/5"),
}


def laplace(sampling):
    """Numbers in boxes, with and without exactly published records."""
    return manifest_of(
        NumericBlock(
            columns=("income", "years"),
            mechanism=ZeroInflatedLaplace(
                Box([0, 18], [100000, 65]), [250000.0, 117.5], 0.05, 1.0, unit="attribute", sampling=sampling
            ),
            missing="public",
        ),
        NumericBlock(
            columns=("children",),
            mechanism=ZeroInflatedLaplace(Box(0, 10), 20.0, 0.0, 1.0, grid=1, sampling=sampling),
            clip=True,
        ),
    )


EXAMPLES: dict[str, Manifest] = {
    "binary": manifest_of(block(design.binary(1.0).mechanism)),
    "binary-seeded": manifest_of(
        block(design.binary(1.0).mechanism), secure=False, source="seeded simulation", order="keep", title=None
    ),
    "binary-delta": manifest_of(block(design.binary(1.0, delta=0.4, prevalence=0.1).mechanism)),
    "binary-four-reports": manifest_of(block(design.binary(0.5, delta=0.1, prevalence=0.25, reports=4).mechanism)),
    "generalized": manifest_of(
        block(GeneralizedResponse(4, 1.0), Categorical(["n", "s", "e", "w"]), ("born", "lives")),
        block(GeneralizedResponse(3, 2.0), Ordinal(["low", "middle", "high"], [0, 1, 5]), ("income",)),
    ),
    "generalized-range": manifest_of(block(GeneralizedResponse(10**7, 12.0), Categorical(range(10**7)))),
    "generalized-blank": manifest_of(
        block(GeneralizedResponse(3, 1.0), WithBlank(Binary(False, True)), missing="category")
    ),
    "grid-public-blanks-per-person": manifest_of(
        block(GeneralizedResponse(11, 0.5), Grid(0, 10, 11), ("score",), missing="public"),
        rows_per_person=3,
        person_checked=True,
    ),
    "channel": manifest_of(
        block(
            ChannelResponse([["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"]]),
            reports=Categorical(["rather no", "cannot say", "rather yes"]),
        )
    ),
    "bipartite": manifest_of(
        block(BipartiteResponse(1000, 377, 1.0), Grid(0, 100, 1000), ("score",)),
        block(
            BipartiteResponse(4, 2, 2.0, [[0, 1], [0, 1], [2, 3], [0, 3]]),
            Metric.points(["a", "b", "c", "d"], [[52.5, 13.4], [52.4, 13.1], [48.9, 2.4], [51.5, -0.1]], "haversine"),
            ("place",),
        ),
        block(BipartiteResponse(2, 1, 1.0, [[0], [1]]), Metric(["x", "y"], [[0, 1], [2, 0]]), ("kind",)),
    ),
    "exponential": manifest_of(
        block(ExponentialResponse([[0, 1, 2], [1, 0, 1], [2, 1, 0]], 1.0), Ordinal(["low", "middle", "high"]))
    ),
    "cyclic": manifest_of(
        block(CyclicResponse(1_000, 1.0, design=SingerSet(2, 2, 5)), Categorical(range(1_000)), ("code",)),
        block(CyclicResponse(11, 0.2, design=PaleySet(11)), Grid(0, 10, 11), ("score",)),
    ),
    "unbiased": manifest_of(
        block(UnbiasedResponse([[3, 1], [2, 2], [1, 3]], [-1, 0, 1], [-2, 2]), Grid(-1, 1, 3), ("mood",))
    ),
    "unbiased-rounded": manifest_of(
        RoundedBlock(
            columns=("mood", "pain"),
            domain=Grid(-1, 1, 3),
            reports=Categorical([-2.0, 2.0]),
            mechanism=UnbiasedResponse([[3, 1], [2, 2], [1, 3]], [-1, 0, 1], [-2, 2]),
            missing="public",
        )
    ),
    "one-number": manifest_of(
        OneNumberBlock(
            columns=("mood", "pain"),
            domains=(Grid(-1, 1, 3), Grid(0, 10, 2)),
            mechanism=OneNumberResponse(
                [
                    UnbiasedResponse([[3, 1], [2, 2], [1, 3]], [-1, 0, 1], [-2, 2]),
                    UnbiasedResponse([[3, 1], [1, 3]], [0, 10], [-5, 15]),
                ],
                [1 << 30, 3 << 30],
            ),
        )
    ),
    "zero-inflated-laplace": laplace("52-bit"),
    "zero-inflated-laplace-exact": laplace("exact"),
    "joint": manifest_of(
        joint_block(ProductLaw((2, 3), (3, 5), (1, 2))),
        joint_block(StarLaw((2, 3), 20, 7, (1, 2)), "star"),
        joint_block(GroupedLaw((2, 3), (0, 1), (5, 9, 30), (0, 1, 1, 2)), "grouped"),
        joint_block(ThresholdLaw((2, 3), (Threshold(1 << 63, (3, 4), 4),)), "threshold"),
    ),
    "csv-digest": manifest_of(block(design.binary(1.0).mechanism), digest="0123456789abcdef" * 4),
    "signed": manifest_of(
        block(design.binary(1.0).mechanism),
        rows=70_000,
        rows_per_person=3,
        content=Content(
            (65_000, 5_000), tuple(ColumnDigest(name, form, f"{i:064x}") for i, (name, form) in enumerate(FORMS))
        ),
    ).signed(SigningKey(Ed25519PrivateKey.from_private_bytes(b"a key that is known to everybody"))),
    "additions": manifest_of(
        block(design.binary(1.0).mechanism),
        rows_per_person=3,
        files=(PartFile("part-00000.parquet", 600, f"{1:064x}"), PartFile("part-00001.parquet", 400, f"{2:064x}")),
        additions=(
            Addition("8b0c3f1e-6c0e-4b7e-9d3a-5a3d4f0f9b10", "2024-12-31T12:00:00+00:00", 600, True, "OpenSSL", 1),
            Addition("8b0c3f1e-6c0e-4b7e-9d3a-5a3d4f0f9b11", "2025-01-31T12:00:00+00:00", 400, True, "OpenSSL", 2),
        ),
    ),
    "by-designs": manifest_of(
        by_mode({"direct": DICE["direct"], "crosswise": DICE["crosswise"]}, reports=Categorical(["different", "same"])),
        secure=None,
        source="respondents",
        order="keep",
    ),
} | {
    f"collected-{name}": manifest_of(block(mechanism, collected=True), secure=None, source="respondents", order="keep")
    for name, mechanism in DICE.items()
}
