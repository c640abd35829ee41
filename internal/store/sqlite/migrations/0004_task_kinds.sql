-- Tasks of one kind, and those of other pipelines among them, are found without reading the rest.
ALTER TABLE tasks ADD COLUMN kind TEXT AS (body ->> 'kind') VIRTUAL;
ALTER TABLE tasks ADD COLUMN pipeline TEXT AS (body ->> 'pipeline') VIRTUAL;
CREATE INDEX tasks_by_kind ON tasks (kind, due, task, pipeline);
