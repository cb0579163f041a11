"""Transformers that users meet and that have no exact program: why, and what to do."""

from __future__ import annotations

from sklearn import manifold
from sklearn.cluster import Birch, BisectingKMeans, KMeans, MiniBatchKMeans
from sklearn.cross_decomposition import CCA, PLSSVD, PLSCanonical, PLSRegression
from sklearn.decomposition import (
    NMF,
    DictionaryLearning,
    LatentDirichletAllocation,
    MiniBatchDictionaryLearning,
    MiniBatchNMF,
    SparseCoder,
)
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.image import PatchExtractor
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.kernel_approximation import (
    AdditiveChi2Sampler,
    PolynomialCountSketch,
    RBFSampler,
    SkewedChi2Sampler,
)
from sklearn.manifold import Isomap, LocallyLinearEmbedding
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer
from sklearn.preprocessing import KernelCenterer, LabelBinarizer, LabelEncoder, MultiLabelBinarizer

from .registry import refused

refused(
    RBFSampler,
    reason="computes cosines of sums of columns, which no engine encloses",
    remedy="Use SplineTransformer(degree=1), KBinsDiscretizer or RandomTreesEmbedding instead.",
)
refused(
    AdditiveChi2Sampler,
    SkewedChi2Sampler,
    reason="computes cosines of logarithms of columns, which no engine encloses",
    remedy="Use SplineTransformer(degree=1), KBinsDiscretizer or RandomTreesEmbedding instead.",
)
refused(
    KernelCenterer,
    reason="computes a kernel of the row with rows of the training table",
    remedy="Use KernelPCA, which centres its kernel itself.",
)
refused(
    PolynomialCountSketch,
    reason="multiplies sums of all columns by a Fourier transform, whose rounding has no bound",
    remedy="Use PolynomialFeatures instead.",
)
refused(
    NMF,
    MiniBatchNMF,
    LatentDirichletAllocation,
    DictionaryLearning,
    MiniBatchDictionaryLearning,
    SparseCoder,
    reason="solves a problem of its own for every row, until a tolerance",
    remedy="Use PCA or TruncatedSVD instead.",
)
refused(
    PLSRegression,
    PLSCanonical,
    PLSSVD,
    CCA,
    reason="gives scores of the target beside those of the columns when a pipeline is trained",
    remedy="Use PCA or LinearDiscriminantAnalysis instead.",
)
refused(
    KMeans,
    MiniBatchKMeans,
    BisectingKMeans,
    Birch,
    reason="gives distances to centres, which are square roots of squares",
    remedy="Use KBinsDiscretizer, PCA or RandomTreesEmbedding instead.",
)
refused(
    Isomap,
    LocallyLinearEmbedding,
    KNeighborsTransformer,
    RadiusNeighborsTransformer,
    reason="looks for the row's neighbours in the training table",
    remedy="Use PCA or RandomTreesEmbedding instead.",
)
refused(
    CountVectorizer,
    HashingVectorizer,
    TfidfVectorizer,
    DictVectorizer,
    FeatureHasher,
    reason="counts what texts or mappings hold, and a feature is one number or one category",
    remedy="Apply it before training, and train on the columns that it gives.",
)
refused(
    LabelBinarizer,
    LabelEncoder,
    MultiLabelBinarizer,
    reason="encodes labels, not features",
    remedy="Use OneHotEncoder or OrdinalEncoder for columns; classifiers take labels as they are.",
)
refused(
    *(cls for name in ("ClassicalMDS", "MDS", "SpectralEmbedding", "TSNE")
      if (cls := getattr(manifold, name, None))),
    reason="places the rows of its training table, and has no place for another",
    remedy="Use PCA or RandomTreesEmbedding instead.",
)  # fmt: skip
refused(PatchExtractor, reason="cuts images, and a feature is one number or one category")
