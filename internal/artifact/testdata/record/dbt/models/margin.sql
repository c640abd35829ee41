-- Skipped, because payments fails.
select sum(amount) as margin from {{ ref('payments') }}
