{# Creates the source tables as they are some hours after the last order of each. #}
{% macro land() %}
  {% do run_query("create schema if not exists raw") %}
  {% for table, hours in {"orders": 1, "late": 12, "stale": 72}.items() %}
    {% do run_query("create or replace table raw." ~ table ~ " as select * from (values
      (1, now()::timestamp - interval " ~ hours ~ " hour, 'paid'),
      (2, now()::timestamp - interval " ~ hours ~ " hour, 'open'),
      (2, now()::timestamp - interval " ~ hours ~ " hour, 'paid')) t(id, placed_at, status)") %}
  {% endfor %}
{% endmacro %}
