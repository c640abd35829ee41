-- Not built by `dbt build`, because a test of orders fails.
select count(*) as orders from {{ ref('orders') }}
