{{ config(materialized='table') }}
-- Fails when it runs: the text is no number.
select cast(status as integer) as amount from {{ source('raw', 'orders') }}
