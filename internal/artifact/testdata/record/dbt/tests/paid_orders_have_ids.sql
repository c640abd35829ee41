select no_such_column from {{ ref('orders') }}
