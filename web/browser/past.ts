// Pipelines that `seed` gives a past, in periods of each length, and others around them. The last
// night of nightly failed, and three nights before it no run opened. The runs of trial are dry
// runs.
export const files: Record<string, string> = {
  "orders.yaml": `
pipeline: {id: orders, owner: sales, description: All orders of an hour, tags: {layer: bronze}}
schedule: {cron: "2 * * * *", offset: -1, evaluation: {window: 50m, interval: 1m}}
sla: {deadline: ":30", expectedDuration: 10m}
validation:
  rules:
    - {key: landed, check: equals, field: complete, value: true}
    - {key: landed, check: gte, field: count, value: 1000}
    - {key: rates, from: fx, check: exists, level: advisory}
job: {type: command, config: {command: [echo, worked on it], timeout: 1m}, pollInterval: 1s}
`,
  "billing.yaml": `
pipeline: {id: billing, owner: finance, description: Invoices of a day, tags: {layer: silver}}
schedule: {cron: "0 1 * * *", offset: -1, after: [orders], evaluation: {window: 3h, interval: 5m}}
sla: {deadline: "02:00", expectedDuration: 30m}
validation: {rules: [{key: landed, check: equals, field: complete, value: true}]}
job: {type: command, config: {command: ["true"], timeout: 1m}, maxRetries: 2}
`,
  "ledger.yaml": `
pipeline: {id: ledger, owner: finance, tags: {layer: gold}}
schedule: {cron: "0 1 * * *", offset: -1, after: [billing], evaluation: {window: 3h, interval: 5m}}
sla: {deadline: "01:30"}
job: {type: command, config: {command: ["true"], timeout: 1m}}
`,
  "nightly.yaml": `
pipeline: {id: nightly, owner: finance, description: Exports of a day, tags: {layer: gold}}
schedule: {cron: "0 1 * * *", offset: -1, evaluation: {window: 3h, interval: 5m}}
validation: {rules: [{key: landed, check: equals, field: complete, value: true}]}
job: {type: command, config: {command: [echo, exported], timeout: 1m}}
`,
  "ticks.yaml": `
pipeline: {id: ticks, owner: treasury, description: Prices of a minute}
schedule: {cron: "*/15 * * * *"}
job: {type: command, config: {command: ["true"], timeout: 1m}}
`,
  "weekly.yaml": `
pipeline: {id: weekly, owner: sales, description: The report of a week}
schedule: {cron: "0 6 * * 1", offset: -1, period: week}
validation: {rules: [{key: landed, check: equals, field: complete, value: true}]}
job: {type: command, config: {command: [echo, reported], timeout: 1m}}
`,
  "trial.yaml": `
pipeline: {id: trial, owner: ops, description: A pipeline that is tried out}
dryRun: true
schedule: {trigger: {key: landed, check: equals, field: complete, value: true}, period: hour}
job: {type: command, config: {command: ["true"], timeout: 1m}}
`,
  "fx.yaml": "pipeline: {id: fx, owner: treasury, description: Exchange rates that others read}\n",
  "broken.yaml": "pipeline: {id: broken, ownr: nobody}\nschedule: {cron: \"61 * * * *\"}\n",
};

const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);

/** Every view, with something to see in each. */
export const views = [
  "/?span=4d", "/pipelines/billing", `/runs/billing/cron/${yesterday}`, "/deadlines", "/deadlines?view=kept", "/deadlines?view=kept&by=owner&days=90",
  "/?span=90d", "/?span=4d&axis=execution", "/trends", "/trends?pipeline=billing", "/events", "/events?from=7d&type=SLA_BREACH", "/alerts", "/config", "/nowhere",
];
