"""Run by Marabou's own Python: is there a point of a box whose largest score is the target's?

Prints a JSON list: what Marabou says, and its processor seconds.  Imports nothing of this
repository.
"""

import json
import sys
import time

import numpy as np
from maraboupy import Marabou

asked = json.loads(sys.argv[1])
network = Marabou.read_onnx(asked["path"])
inputs = np.array(network.inputVars).reshape(-1)
for variable, low, high in zip(inputs, asked["low"], asked["high"], strict=True):
    network.setLowerBound(variable, low)
    network.setUpperBound(variable, high)
scores = np.array(network.outputVars).reshape(-1)
for label, score in enumerate(scores):
    if label != asked["target"]:
        network.addInequality([score, scores[asked["target"]]], [1, -1], 0)
options = Marabou.createOptions(verbosity=0, timeoutInSeconds=int(asked["seconds"]))
started = time.process_time()
said, *_ = network.solve(verbose=False, options=options)
print(json.dumps([said, time.process_time() - started]))
