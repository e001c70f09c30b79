"""`export`: a program as one graph module with the program's own signature."""

from stator.export.front import ExportResult, export

__all__ = ["ExportResult", "export"]
