"""Keep the hyperbolic embedding in Neo4j fresh: `heat refresh` every quarter of an hour.

For Airflow 2.10 or later, 3 included. The workers need

- heat in /opt/heat (``python3 -m venv /opt/heat && /opt/heat/bin/pip install .``): an environment of its own,
  so that its packages and Airflow's do not have to agree;
- /etc/heat/heat.toml with the address of Neo4j and what is to be embedded; run ``heat embed`` once with it,
  which makes the first version of the model;
- the Airflow connection ``heat_neo4j``, of which login and password are used. They reach the command through
  its environment, and Airflow masks the password in its pages and logs.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

try:
    from airflow.providers.standard.operators.bash import BashOperator
    from airflow.sdk import DAG
except ImportError:  # Airflow 2
    from airflow import DAG
    from airflow.operators.bash import BashOperator

with DAG(
    "heat_refresh",
    description="Refresh the hyperbolic embedding in Neo4j",
    schedule="*/15 * * * *",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),  # noqa: UP017  # Airflow 2.10 runs on Python 3.8 too
    catchup=False,
    # There is nothing to gain from two at once: the second would find the lease of the model taken.
    max_active_runs=1,
    tags=["neo4j"],
) as dag:
    BashOperator(
        task_id="refresh",
        bash_command="/opt/heat/bin/heat refresh",
        env={
            "HEAT_CONFIG": "/etc/heat/heat.toml",
            "NEO4J_USERNAME": "{{ conn.heat_neo4j.login }}",
            "NEO4J_PASSWORD": "{{ conn.heat_neo4j.password }}",
        },
        append_env=True,
        skip_on_exit_code=9,  # another process refreshes the model
        # For a server that restarts, and for a full run after an update that was rejected. Where a second try
        # cannot help, it ends the same way before it trains.
        retries=1,
        retry_delay=timedelta(minutes=5),
        execution_timeout=timedelta(hours=6),
        do_xcom_push=False,
    )
