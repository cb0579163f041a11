"""Compile the kernels of mixed-integer search once, before two workers would each do it."""

import numpy as np
import pandas as pd
from sklearn.neural_network import MLPClassifier

import cfxc

X = pd.DataFrame(np.random.default_rng(0).integers(0, 9, (80, 3)), columns=list("abc"))
network = MLPClassifier((8,), max_iter=300, random_state=0).fit(X, X.a + X.b > X.c + 6)
model = cfxc.compile(network, cfxc.FeatureSpace.infer(X))
print(model.explain(X[~network.predict(X)].iloc[[0]], target=True, method="mio").summary())
