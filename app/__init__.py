"""BigGraph. Importing any part of it keeps the libraries under it from telling their makers of their use."""

import os
import sys

# Both do so when they are imported, over the network, and leave an id in the home directory: hence here, before any
# module of ours can import them. Whatever a process starts inherits the first; it is no setting, and overrides one.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime, from 1.29 on
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # what OpenVINO imports for it, and can do without
