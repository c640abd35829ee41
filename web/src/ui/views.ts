/** The views that have a tab, each with its second key after g. */
export const views = [
  { path: "/", name: "Timeline", key: "t" },
  { path: "/deadlines", name: "Deadlines", key: "d" },
  { path: "/trends", name: "Trends", key: "r" },
  { path: "/events", name: "Events", key: "e" },
  { path: "/alerts", name: "Alerts", key: "a" },
  { path: "/config", name: "Config", key: "c" },
] as const;
