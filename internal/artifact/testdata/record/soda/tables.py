"""Creates the tables that the checks are about."""

import duckdb

with duckdb.connect("shop.duckdb") as shop:
    shop.execute("create table orders as select * from (values (1, 'paid'), (2, 'open'), (2, 'paid')) t(id, status)")
    shop.execute("create table customers as select * from (values (1, 'ann'), (null, 'bob')) t(id, name)")
