"""Whether Spark can run here, and sessions that begin quickly and do little."""

from __future__ import annotations

import importlib.util

from modlm.counts import CountOptions
from modlm.counts.spark.session import check_java
from modlm.errors import EngineError

QUICK = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",  # compiling a query takes longer than a small one
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def why_not() -> str:
    """The reason why Spark cannot run here; "" when it can."""
    for package in ("pyspark", "pyarrow"):
        if importlib.util.find_spec(package) is None:
            return f"{package} is not installed (extra spark)"
    try:
        check_java()
    except EngineError as error:
        return str(error)
    return ""


def quick(master: str = "local[2]", **conf: str) -> CountOptions:
    """Two threads on this machine."""
    return CountOptions(master=master, conf=QUICK | conf)
