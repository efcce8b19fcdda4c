"""Results of the program harness as DataFrames, and images of a prompt side by side.

All of it comes from the program's --json documents and, through `harness query`, from its database: this package
computes nothing.
"""

from .images import ImageGrid, Picture
from .program import HarnessError
from .workspace import Workspace

__all__ = ["HarnessError", "ImageGrid", "Picture", "Workspace"]
