"""Stand-ins of the parts of Airflow that the package builds on."""
