"""Quality of an embedding and of baselines, on the same splits."""

from heat_neo4j.evaluation.hierarchy import evaluate_hierarchy
from heat_neo4j.evaluation.link_tasks import EvaluationError, evaluate_links
from heat_neo4j.evaluation.report import Evaluation

__all__ = ["Evaluation", "EvaluationError", "evaluate_hierarchy", "evaluate_links"]
